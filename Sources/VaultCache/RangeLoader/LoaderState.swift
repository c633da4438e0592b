import VaultModel
import VaultStorage

/// The value that holds a loader's knowledge and makes its decisions. It does no I/O, and changes only under the
/// loader's lock.
///
/// Its methods return what the caller must do after unlocking, such as waking waiters, or starting or cancelling
/// fetches.
struct LoaderState {
    var known = KnownRepresentation()
    var readers = ReaderTable()
    var fetches = FetchTable()
    var permissions: LoaderPermissions
    /// The error that all readers end with; nil while they may read.
    private(set) var ending: VaultError?
    /// The schedule by which a failing origin is asked again.
    var retry: RetrySchedule
    /// The last id given to a reader or to a fetch.
    var lastID = 0

    init(mode: VaultMode, retry: RetryPolicy = RetryPolicy()) {
        permissions = LoaderPermissions(mode: mode)
        self.retry = RetrySchedule(retry)
    }

    /// The mode in force.
    var mode: VaultMode { permissions.mode }

    /// The bytes that are present: sealed in segments, or just received.
    var present: ByteRanges {
        fetches.values.reduce(into: known.map.covered) {
            if !$1.isSeparate { $0.insert(contentsOf: $1.recent.start..<$1.present) }
        }
    }

    /// The bytes that are present, or that will come from answers that have begun.
    var presentOrComing: ByteRanges { fetches.coming.reduce(into: present) { $0.insert(contentsOf: $1.remaining) } }

    /// Whether nothing is known about the resource, nothing reads it, and its bytes may be fetched and stored.
    var isUntouched: Bool {
        known.information == nil && readers.isEmpty && fetches.isEmpty && permissions.refusal == nil
            && mode.allowsRequests && mode.stores
    }

    /// Returns whether the index and the loader agree on these segments, and no running fetch overlaps them.
    func hasWritten(_ segments: [SegmentDescription]) -> Bool {
        segments.allSatisfy { segment in
            known.map.length(of: segment.id) == segment.length
                && !fetches.values.contains { ($0.start..<max($0.start, $0.present)).overlaps(segment.range) }
        }
    }

    // MARK: Representations

    /// Begins a representation. From then on, an earlier one's bytes reach only readers whose own transfers bring the
    /// rest of it.
    ///
    /// - Parameters:
    ///   - keeping: the fetch whose answer begins the representation; this fetch continues.
    ///   - refused: the error with which the store refused the representation, whose bytes then only pass through; nil
    ///     if the store accepted it.
    mutating func begin(
        _ information: ContentInformation, _ freshness: Freshness? = nil, keeping: FetchState.ID?, isBound: Bool,
        connection: UInt64? = nil, unsettledDate: String? = nil, refused: VaultError? = nil
    ) -> Effects {
        var effects = Effects()
        permissions.begin(refused: refused)
        let isFirst = known.isEmpty
        // Set `isBound` now, so that no new reader cuts short the only fetch that can fill a bound representation.
        known.begin(information, freshness, isBound: isBound, connection: connection, unsettledDate: unsettledDate)
        if let keeping {
            fetches[keeping]?.destination = permissions.hasStoreAccepted ? .store : .readers
            if isBound { fetches[keeping]?.goOn() }
        }
        if !isFirst {
            effects.merge(keepTransfers(except: keeping))
            readers.beginEdition()
            if let keeping { follow(keeping) }
        }
        effects.merge(fetches.discard { $0.id != keeping && !$0.isSeparate })
        readers.limit(to: information.length)
        if isBound, isFirst, let fetch = keeping.flatMap({ fetches[$0] }) {
            for reader in readers.values { readers.detach(reader, from: fetch) }
        }
        effects.merge(readers.wake(readers.values))
        if isBound, !permissions.hasStoreAccepted, let keeping {
            // Because nothing is stored, a reader that fell behind the others could not continue.
            for reader in readers.awaiting(keeping).dropFirst() { readers[reader.id]?.separate() }
        }
        return effects
    }

    /// Leaves readers on their transfers if these will bring everything that the readers still want.
    ///
    /// Those readers receive the rest of the old version, separately from the new representation; nothing more of the
    /// old version is stored. All other readers lose their transfers.
    ///
    /// - Parameter keeping: the fetch whose answer begins the new representation.
    private mutating func keepTransfers(except keeping: FetchState.ID?) -> Effects {
        var effects = Effects()
        for var fetch in fetches.values where fetch.id != keeping && !fetch.isSeparate {
            let takers = readers.takers(of: fetch.id)
            let positions = takers.filter { isServed($0, by: fetch) }.map(\.position)
            guard let slowest = positions.min(), let fastest = positions.max() else { continue }
            for reader in takers {
                if isServed(reader, by: fetch) {
                    readers[reader.id]?.isSeparate = true
                } else {
                    effects.merge(readers.wake([reader]) { $0.fetch = nil })
                }
            }
            fetch.goOn()
            fetch.destination = .ownReaders
            (fetch.slowest, fetch.demand) = (slowest, fastest)
            // Make the sealer close the segment that it was writing.
            fetch.wantsFlush = true
            effects.wake(fetch.sealerSignal.raise())
            effects.wake(fetch.receiverSignal.raise())
            fetches[fetch.id] = fetch
        }
        return effects
    }

    /// Returns whether a transfer alone brings everything that its reader still wants.
    private func isServed(_ reader: ReaderState, by fetch: FetchState) -> Bool {
        guard reader.hasBegun, !reader.isFilling, reader.edition == readers.edition,
            fetch.phase == .receiving || fetch.hasEnded
        else { return false }
        // A transfer brings no more bytes once it has reached the point where another one took over.
        let isRunning = fetch.isActive && fetch.present < fetch.end
        return fetch.recent.start...fetch.present ~= reader.position
            && reader.end <= (isRunning ? fetch.answerEnd : fetch.present)
    }

    /// Moves readers to a representation whose first answer they were waiting for, if that answer brings everything
    /// that they want.
    ///
    /// The other readers must be opened again.
    private mutating func follow(_ id: FetchState.ID) {
        fetches[id]?.goOn()
        guard let end = fetches[id]?.end else { return }
        let edition = readers.edition
        for reader in readers.awaiting(id) where reader.end <= end {
            // Without range support, the answer begins at byte 0.
            guard known.supportsRanges || reader.position == 0 else { continue }
            readers[reader.id]?.edition = edition
        }
    }

    /// Forgets the representation, so that the next answer begins a new one.
    ///
    /// - Parameter keeping: the fetch that received this next answer, if it has already arrived. Readers waiting for
    ///   this fetch keep waiting.
    mutating func forget(keeping: FetchState.ID? = nil) -> Effects {
        known.forget()
        readers.beginEdition()
        var effects = fetches.discard { $0.id != keeping && !$0.isSeparate }
        let edition = readers.edition
        effects.merge(
            readers.wake(readers.values) { reader in
                if let keeping, reader.fetch == keeping { reader.edition = edition }
            })
        return effects
    }

    /// Ends all current and future readers with an error. Bytes that have already arrived are still sealed.
    mutating func end(with error: VaultError) -> Effects {
        ending = error
        var effects = fetches.letGo(fetches.values)
        effects.merge(readers.wake(readers.values))
        return effects
    }

    /// Records newly learned facts about the representation, such as its length, or that its origin does not support
    /// ranges.
    mutating func learn(_ information: ContentInformation) -> Effects {
        known.learn(information)
        readers.limit(to: information.length)
        return readers.wake(readers.values)
    }

    // MARK: Time

    /// Does the periodic work: ends transfers whose readers have stalled or left, and makes sealers close short blocks.
    mutating func tick(now: ContinuousClock.Instant) -> Effects {
        permissions.tick(now: now)
        var effects = Effects()
        for fetch in fetches.values where fetch.isActive {
            var next = fetch
            effects.merge(
                next.tick(
                    now: now, isBound: known.isBound,
                    isAwaited: readers.isTaken(fetch.id) || isNeeded(fetch, leaving: nil)))
            fetches[fetch.id] = next
        }
        return effects
    }
}

// Decides whether the origin may be asked, and whether bytes are stored.
extension LoaderState {
    /// The first step in opening a stale representation.
    enum StaleStep: Equatable {
        /// Open it at once: the fetch of its missing bytes will show whether it has changed.
        case open
        /// Serve it without confirmation, because the mode does not let the origin be asked.
        case stale(Staleness)
        /// Ask the origin first.
        case ask
    }

    /// Returns how to open a stale representation.
    ///
    /// - Parameter position: the offset of the first byte wanted; nil if the request is not for bytes.
    func staleStep(at position: Int64?) -> StaleStep {
        // If the first byte is missing, the answer that brings it will show whether the representation has changed.
        if let position, position < known.information?.length ?? .max, !present.contains(position) { return .open }
        switch mode {
        case .offline: return .stale(.offline)
        case .preferVault: return .stale(.preferVault)
        case .online, .noStore: return .ask
        }
    }

    /// Returns the freshness if it must be written to the index, and counts it as written; otherwise returns nil.
    mutating func takeUnwrittenFreshness() -> Freshness? {
        mode.stores && permissions.hasStoreAccepted ? known.takeUnwrittenFreshness() : nil
    }

    /// Changes the mode.
    ///
    /// If the new mode treats requests or storage differently, all transfers end, and their readers continue under the
    /// new mode.
    mutating func setMode(vault: VaultMode? = nil, own: VaultMode?? = nil) -> Effects {
        guard permissions.setMode(vault: vault, own: own) else { return Effects() }
        var effects = fetches.letGo(fetches.values.filter(\.isActive))
        effects.merge(readers.wake(readers.values))
        return effects
    }

    /// Returns why bytes for a reader are passed on unstored; nil if they are stored.
    func bypass(_ id: ReaderState.ID) -> BypassReason? {
        if readers[id]?.isSeparate == true { return known.isBound ? .unverifiable : .changing }
        guard let fetch = readers[id]?.fetch, let isStoring = fetches[fetch]?.isStoring, !isStoring else { return nil }
        return permissions.bypass
    }

    /// Whether bytes are passing through that should be stored.
    var isPassingThrough: Bool { mode.stores && fetches.values.contains(where: \.isPassingThrough) }

    /// Lets the store take bytes again, including those of a representation that it had refused.
    mutating func storeAgain() -> Effects {
        permissions.storeAgain()
        return fetches.storeAgain()
    }
}
