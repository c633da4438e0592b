import VaultFetch
package import VaultModel
import VaultStorage

// Records what answers state in the index first and then in the loader's state, so that readers see nothing that a
// restart would lose; and reads the index again if it may have changed.
extension ResourceLoader {
    /// Begins a new representation, in the index and in the loader's state.
    ///
    /// - Parameters:
    ///   - url: the URL that answered.
    ///   - connection: the connection that the answer came on, if the answer's bytes are used; otherwise nil.
    ///   - unsettledDate: the answer's `Last-Modified` if it does not distinguish versions yet; otherwise nil.
    func begin(
        _ information: ContentInformation, _ freshness: Freshness, from url: MediaURL, keeping fetch: FetchState.ID?,
        connection: UInt64? = nil, unsettledDate: String? = nil
    ) async throws {
        let (record, names, source) = (record, names, origin.urls.current)
        let information = versions.naming(url, in: information)
        let freshness = pages.freshness(freshness, of: information)
        let begin = { [self] (refusal: VaultError?) in
            change { state in
                state.begin(
                    information, freshness, keeping: fetch,
                    isBound: versions.isBound(information, state.known.entityTags, at: url),
                    connection: connection, unsettledDate: unsettledDate, refused: refusal)
            }
        }
        guard look({ $0.mode.stores }) else {
            try record.useUnstoredID()
            return begin(nil)
        }
        do {
            try await pool.run {
                if let principal = record.key.principal { try names.note(principal) }
                try record.begin(information, freshness, of: source)
            }
            begin(nil)
        } catch let error as VaultError {
            // Caching must never make playback fail, so a representation that the store refuses only passes through.
            try record.useUnstoredID()
            begin(error)
        }
    }

    /// Records newly learned facts about the representation, in the index and in the loader's state.
    func learn(_ information: ContentInformation) async throws {
        let record = record
        // If the write fails, the loader will learn these facts again.
        if look({ $0.mode.stores }) { try? await pool.run { try record.learn(information) } }
        change { $0.learn(information) }
    }

    /// Confirms the known representation after an answer that belongs to it.
    ///
    /// This does nothing if no validator distinguishes the representation from another version.
    func confirm(by head: OriginHead, asked: Int64) {
        guard head.status != 416, let known, known.validators != Validators() else { return }
        update { state in
            let confirmed = head.status == 304 ? state.known.freshness?.confirmed(by: head.fields, asked: asked) : nil
            state.known.freshness = confirmed ?? Freshness(head.fields, asked: asked)
        }
    }

    /// Writes the freshness to the index if it was confirmed since the last write.
    package func writeFreshness() async {
        guard let news = update({ $0.takeUnwrittenFreshness() }) else { return }
        let record = record
        // A failed write costs one extra request to the origin after the next start.
        try? await pool.run { try record.confirm(news) }
    }

    /// Records in the index the URL at which the origin answered with bytes, for the next run.
    func noteAnswer(from url: MediaURL) async {
        guard look({ $0.mode.stores }), let source = origin.urls.takeChange(of: url) else { return }
        let record = record
        // If the write fails, a later request supplies or finds the URL again.
        try? await pool.run { try record.renew(source) }
    }

    // MARK: The store

    /// Sets the vault's mode, the resource's own mode, or removes the latter. It takes effect at once, even for current
    /// readers.
    package func setMode(vault: VaultMode? = nil, own: VaultMode?? = nil) async {
        change { $0.setMode(vault: vault, own: own) }
        await storeAgain()
    }

    /// Lets the store accept bytes again, if it has space by now.
    func storeAgain() async {
        let (refusal, information, freshness, isTaken) = look { state in
            (
                state.mode.stores ? state.permissions.refusal?.error : nil, state.known.information,
                state.known.freshness, state.permissions.hasStoreAccepted
            )
        }
        guard let refusal else { return }
        let (store, record, source) = (store, record, origin.urls.current)
        let isTakingAgain = try? await pool.run {
            guard store.quota.canStore(after: refusal, length: information?.length) else { return false }
            if !isTaken, let information { try record.takeIn(information, freshness, of: source) }
            return true
        }
        change { state in
            guard isTakingAgain == true else {
                state.permissions.extendRefusal()
                return Effects()
            }
            return state.storeAgain()
        }
    }

    /// Reloads the resource from the index, without a segment whose file was missing. The segment's row may be gone as
    /// well.
    ///
    /// The owner can need this as well, because it reseals and joins a pack's segments through another loader than
    /// those of the pack's parts.
    func reloadIndex(without segment: SegmentDescription) async {
        let record = record
        let before = record.representation
        let serving = (try? await pool.run { try record.load() }) ?? nil
        update { $0.known.reload(serving?.id == before ? serving : nil, without: segment.id) }
        if serving?.segments.contains(where: { $0.id == segment.id }) ?? false, store.isOwner {
            await invalidate(segment, for: .missing)
        }
    }

    /// Loads a resource that was unknown before, if the index has it by now.
    package func reloadUnknown() async {
        let record = record
        _ = try? await answers.exclusively {
            guard look({ $0.known.information == nil }), let serving = try await pool.run({ try record.load() }) else {
                return
            }
            change { state in
                state.known.load(serving)
                state.known.isPinned = record.isPinned
                return state.learn(serving.info.information)
            }
        }
    }
}
