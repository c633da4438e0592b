import VaultFetch
package import VaultModel
import VaultStorage

extension ResourceLoader {
    /// Adds a reader for a request.
    ///
    /// Returns once the length and type are known and the first byte is available.
    ///
    /// - Parameters:
    ///   - requested: the requested range.
    ///   - isDownload: whether the reader belongs to a download. Other downloads do not yield to such a reader, and it
    ///     is informed of a failure at once.
    /// - Throws: ``VaultError``; `CancellationError`.
    package func open(_ requested: RequestedRange, isDownload: Bool = false) async throws -> Opening {
        try await ready()
        // If the representation changes while it is being opened, the resource is opened again, a limited number of
        // times.
        for _ in 0..<Self.maxAttempts {
            if let opening = try await attemptOpening(requested, isDownload) { return opening }
        }
        throw MediaReader.changed(url, requested.firstByte ?? 0)
    }

    /// The maximum number of attempts. A wrong first length may cost two of them: one to learn the right length, and
    /// one to get the bytes at its end.
    private static let maxAttempts = 4

    /// Adds a reader of held bytes; returns nil if the loader has changed to another representation since they were
    /// found.
    func open(_ held: LoaderState.Held) -> Opening? {
        let reader = change { state in (state.addReader(of: held), Effects()) }
        return reader.map { Opening(held, reader: $0, entityTag: name(held.entityTag, of: held.information)) }
    }

    /// Makes one attempt to open the resource.
    ///
    /// - Returns: nil if another attempt is needed, because the representation changed or an unconfirmed length was
    ///   dropped.
    private func attemptOpening(_ requested: RequestedRange, _ isDownload: Bool) async throws -> Opening? {
        if needsLength(requested), look({ $0.known.information?.length }) == nil { try await learnLength() }
        let revalidation = try await revalidateIfStale(at: firstByte(requested))
        let (known, edition, present) = look { ($0.known.information, $0.readers.edition, $0.present) }
        let wanted: ByteRange
        do {
            wanted = try known.map { try resolve(requested, $0) } ?? provisional(requested)
        } catch let error as VaultError
            where error.code == .unsatisfiableRange && mayExist(requested.firstByte) && forgetUnconfirmedLength()
        {
            return nil
        }
        let isCut = try await isCutOff(wanted)
        guard look({ $0.readers.edition == edition }) else { return nil }
        let isExpected = !isDownload && contact.hasAnsweredLately(now: .now)
        guard let id = addReader(wanted, isCut: isCut, isExpected: isExpected) else { return nil }
        do {
            if try await reachFirstByte(id, wanted.lowerBound, isCut, isDownload),
                let opening = try finish(
                    id, requested, look({ $0.readers.edition }) == edition ? present : ByteRanges(), revalidation,
                    isCut: isCut)
            {
                return opening
            }
            change { $0.removeReader(id) }
            return nil
        } catch {
            change { $0.removeReader(id) }
            throw error
        }
    }

    /// Adds a reader of the current representation, or one apart from it.
    ///
    /// - Parameters:
    ///   - wanted: the range to be read.
    ///   - isCut: whether the missing part of the range cannot be fetched.
    ///   - isExpected: whether the origin answered recently, so that the reader waits a little while connections to it
    ///     fail.
    /// - Returns: nil if another representation has to begin for the reader, because the readers of the current one
    ///   have left.
    private func addReader(_ wanted: ByteRange, isCut: Bool, isExpected: Bool) -> ReaderState.ID? {
        let url = urls.current.url
        return change { [self] state in
            state.known.isBound = isBound(state.known.information, state.known.entityTags, at: url)
            let step = isCut ? .share : state.boundStep(for: wanted)
            guard step != .begin else { return (nil, Effects()) }
            let id = step == .apart ? state.addSeparateReader(wanted) : state.addReader(wanted)
            if isExpected { state.expect(id) }
            return (id, Effects())
        }
    }

    /// Returns whether the length must be known before the request can be sent. It must for a suffix, and for a start
    /// beyond any possible length.
    private func needsLength(_ requested: RequestedRange) -> Bool {
        if case .suffix = requested { return true }
        return requested.firstByte ?? 0 >= ContentInformation.maxBytes
    }

    /// Returns the bytes of a known representation to which a request refers.
    ///
    /// If ranges cannot be served, that is the whole representation.
    ///
    /// - Throws: ``VaultError`` with code `unsatisfiableRange` and `length` set if the range is outside the
    ///   representation.
    private func resolve(_ requested: RequestedRange, _ information: ContentInformation) throws -> ByteRange {
        guard !answersWhole(requested, information) else { return 0..<(information.length ?? .max) }
        guard let length = information.length else { return provisional(requested) }
        guard let range = requested.resolved(length: length) else {
            var error = VaultError(
                .unsatisfiableRange,
                "the range is outside the \(length) bytes of the resource; request a range within them")
            error.length = length
            throw error
        }
        return range
    }

    /// Returns whether the answer has to be the whole representation, because ranges cannot be served.
    ///
    /// This is the case if the origin does not support ranges and some bytes are not held, or if the length is unknown
    /// and the requested bytes are not present.
    private func answersWhole(_ requested: RequestedRange, _ information: ContentInformation) -> Bool {
        guard let length = information.length else {
            guard case .closed = requested else { return true }
            return look { !$0.present.gaps(in: provisional(requested)).isEmpty }
        }
        return !information.supportsRanges
            && look { $0.mode.allowsRequests && !$0.present.gaps(in: 0..<length).isEmpty }
    }

    /// Returns whether the origin can be asked for this byte. A suffix has no first byte, and some offsets are too
    /// large.
    private func mayExist(_ first: Int64?) -> Bool { first.map { $0 < ContentInformation.maxBytes } ?? false }

    /// Returns where a request begins in the known representation; nil if no representation is known, or if the range
    /// is outside it.
    private func firstByte(_ requested: RequestedRange) -> Int64? {
        look { $0.known.information }.flatMap { try? resolve(requested, $0).lowerBound }
    }

    private func provisional(_ requested: RequestedRange) -> ByteRange {
        let first = requested.firstByte ?? 0
        return first..<max(first, requested.endLimit ?? .max)
    }

    /// Returns whether the missing part of a range cannot be fetched.
    ///
    /// The origin is asked only if this must be known before the first byte is served. That is so if the answer begins
    /// with held bytes, because it then promises an end, or if a representation without a validator would have to begin
    /// again.
    private func isCutOff(_ wanted: ByteRange) async throws -> Bool {
        let (mode, isFirstHeld, hasGap) = look { state in
            (
                state.mode, state.present.contains(wanted.lowerBound),
                !state.present.gaps(in: wanted.clamped(to: 0..<(state.known.information?.length ?? .max))).isEmpty
            )
        }
        guard mode.allowsRequests else { return true }
        let isFresh = canGoOn(to: wanted)
        guard hasGap, isFirstHeld || !isFresh else { return false }
        guard isFresh else {
            // The held bytes would be discarded, so this is done only if the origin can be reached.
            let limit = retryPolicy.revalidationTimeLimit
            guard try await reachOrigin(within: limit) == true else { return true }
            // Another reader may have been added in the meantime, so check again before the representation is
            // forgotten.
            canGoOn(to: wanted, forgetting: true)
            return false
        }
        // Held bytes are served at once. If the origin is merely silent, the reader waits for it on reaching the gap.
        return try await reachOrigin(within: retryPolicy.moment) == false
    }

    /// Returns whether more of the representation may be fetched.
    ///
    /// Nothing may be added to a representation without a validator if its bytes were received in an earlier run,
    /// because the connection that they came from is gone.
    ///
    /// - Parameters:
    ///   - wanted: the range to be read.
    ///   - forgetting: whether to forget the representation if no more of it may be fetched, so that the next answer
    ///     begins another.
    @discardableResult
    private func canGoOn(to wanted: ByteRange, forgetting: Bool = false) -> Bool {
        let url = urls.current.url
        return change { [self] state in
            state.known.isBound = isBound(state.known.information, state.known.entityTags, at: url)
            let isLost =
                state.known.isBound && state.known.connection == nil && !state.present.isEmpty
                && !state.readers.hasCurrent
            let goesOn = !isLost && state.boundStep(for: wanted) != .begin
            return (goesOn, forgetting && !goesOn ? state.forget() : Effects())
        }
    }

    /// Waits until the first byte is present, or until the reader needs no bytes.
    ///
    /// - Returns: false if the representation changed.
    private func reachFirstByte(
        _ id: ReaderState.ID, _ position: Int64, _ isCut: Bool, _ isDownload: Bool
    ) async throws -> Bool {
        while true {
            if isCut, look({ !$0.present.contains(position) && $0.known.information?.length != position }) {
                throw MediaReader.hole(at: position, isDamage: look { $0.known.map.damaged.contains(position) })
            }
            switch step(id) {
            case .take, .open, .finished: return true
            case .wait, .fetch: if isDownload { try await waitForWake(id) } else { try await waitAsPlayer(id) }
            case .changed: return false
            case .hole(_, let isDamage): throw MediaReader.hole(at: position, isDamage: isDamage)
            case .failed(let failure): throw failure.vaultError(for: url, at: position)
            }
        }
    }

    private func finish(
        _ id: ReaderState.ID, _ requested: RequestedRange, _ present: ByteRanges, _ revalidation: RevalidationOutcome,
        isCut: Bool
    ) throws -> Opening? {
        let (known, edition) = look { ($0.known.information, $0.readers.edition) }
        guard let information = known, let entityTag = record.entityTag else { return nil }
        let isWhole = answersWhole(requested, information)
        // The first answer decides. If it ignored the range, the reader begins at byte 0.
        let range = isWhole ? information.length.map { 0..<$0 } : try resolve(requested, information)
        let promised = range ?? 0..<Int64.max
        // The origin supports ranges after all, but the reader began at byte 0, so the resource must be opened again.
        guard isWhole || look({ $0.readers[id]?.position == promised.lowerBound }) else { return nil }
        let isPlaced = change {
            ($0.place(id, promised, of: edition, isWhole: requested == .whole, isCut: isCut), Effects())
        }
        guard isPlaced else { return nil }
        var given = range
        if isCut, requested != .whole, let wanted = range {
            let run = look { $0.present.run(at: wanted.lowerBound) }
            given = run.map { $0.clamped(to: wanted) } ?? wanted
        }
        return Opening(
            reader: id, information: information, entityTag: tag(entityTag, of: information, for: id), range: given,
            isWholeAnswer: isWhole && requested != .whole, isShortened: given != range, isCutOff: isCut,
            // The missing part of a cut-off range is not fetched.
            source: isCut ? .held : .of(range, present), revalidation: revalidation)
    }

    /// Returns the vault's entity tag for the bytes that a reader returns.
    ///
    /// The tag is weak if no validator distinguishes the representation from another version. For a reader apart from
    /// the representation, the tag is also unique.
    private func tag(
        _ entityTag: EntityTag, of information: ContentInformation, for id: ReaderState.ID
    ) -> EntityTag {
        guard look({ $0.readers[id]?.isSeparate ?? false }) else { return name(entityTag, of: information) }
        return EntityTag(weak: "\(entityTag.opaque)-\(id)")
    }

    /// Finds out the resource's length.
    private func learnLength() async throws {
        guard look({ $0.mode.allowsRequests }) else { throw MediaReader.hole(at: 0, isDamage: false) }
        _ = try await learnInformation()
    }

    /// Returns what is known of the resource. If nothing is known, asks the origin first.
    package func head() async throws -> MediaHead {
        try await ready()
        let revalidation = try await revalidateIfStale(at: nil)
        let isKnown = look { $0.known.information != nil }
        let information = try await learnInformation()
        guard let entityTag = record.entityTag else { throw MediaReader.changed(url, 0) }
        return MediaHead(
            information: information, entityTag: name(entityTag, of: information),
            source: .of(information.length.map { 0..<$0 }, look { $0.present }),
            isKnown: isKnown, isWholeAnswer: answersWhole(.from(0), information),
            bypass: bypass(for: information.length),
            staleness: revalidation.staleness, originStatus: revalidation.originStatus)
    }

    /// Returns why bytes fetched now would not be stored; nil if they would be.
    private func bypass(for length: Int64?) -> BypassReason? {
        look { state in
            let isHeld = length.map { state.present.gaps(in: 0..<$0).isEmpty } ?? false
            return isHeld || !state.permissions.refusesAll ? nil : state.permissions.bypass
        }
    }
}

extension MediaReader.Source {
    /// Returns where the bytes of a range are, given which bytes are present.
    fileprivate static func of(_ range: ByteRange?, _ present: ByteRanges) -> MediaReader.Source {
        guard let range else { return .fetched }
        if present.gaps(in: range).isEmpty { return .held }
        return present.overlaps(with: range).isEmpty ? .fetched : .partial
    }
}

/// The result of opening a resource, which contains everything needed for the head of an answer.
package struct Opening {
    let reader: ReaderState.ID
    let information: ContentInformation
    let entityTag: EntityTag
    let range: ByteRange?
    let isWholeAnswer: Bool
    let isShortened: Bool
    /// Whether the origin may not be asked or is unreachable, so that the reader does not wait for the origin at a gap.
    let isCutOff: Bool
    let source: MediaReader.Source
    let revalidation: RevalidationOutcome
}

extension Opening {
    /// Creates an opening of a range that is entirely held.
    init(_ held: LoaderState.Held, reader: ReaderState.ID, entityTag: EntityTag) {
        self.init(
            reader: reader, information: held.information, entityTag: entityTag, range: held.range,
            isWholeAnswer: false,
            isShortened: false, isCutOff: false, source: .held, revalidation: RevalidationOutcome())
    }
}
