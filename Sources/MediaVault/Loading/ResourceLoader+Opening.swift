import VaultFetch
import VaultModel
import VaultStorage

extension ResourceLoader {
    /// Adds a reader for a request, and returns once length and type are known and its first byte is there.
    ///
    /// - Parameter isDownload: whether it is a download, for which no other stands back and which is told of a failure
    ///   at once.
    /// - Throws: ``VaultError``; `CancellationError`.
    func open(_ requested: RequestedRange, isDownload: Bool = false) async throws -> Opening {
        try await ready()
        // A representation that changes while it is opened is opened anew; one that changes each time is given up.
        for _ in 0..<Self.mostAttempts {
            if let opening = try await attemptOpening(requested, isDownload) { return opening }
        }
        throw MediaReader.changed(url, requested.firstByte ?? 0)
    }

    /// A first word on the length that was wrong may take two: the right one, and what is there at its end.
    private static let mostAttempts = 4

    /// Adds a reader for a request that can be answered with held bytes alone, fresh ones; nil for every other.
    func openHeld(_ requested: RequestedRange) -> Opening? {
        let now = store.now()
        let opened = change { state -> ((held: LoaderState.Held, reader: ReaderState.ID)?, Effects) in
            guard let held = state.held(requested, now: now) else { return (nil, Effects()) }
            return ((held, state.addReader(of: held)), Effects())
        }
        return opened.map { opened in
            Opening(
                opened.held, reader: opened.reader,
                entityTag: name(opened.held.entityTag, of: opened.held.information))
        }
    }

    /// Nil where the representation changed meanwhile.
    private func attemptOpening(_ requested: RequestedRange, _ isDownload: Bool) async throws -> Opening? {
        if needsLength(requested), look({ $0.information?.length }) == nil { try await learnLength() }
        let inquiry = try await revalidateIfStale(at: firstByte(requested))
        let (known, edition, present) = look { ($0.information, $0.edition, $0.present) }
        let wanted: ByteRange
        do {
            wanted = try known.map { try resolve(requested, $0) } ?? provisional(requested)
        } catch let error as VaultError 
            where error.code == .unsatisfiableRange && mayExist(requested.firstByte) && forgetHearsay()
        {
            return nil
        }
        let isCut = try await isCutOff(wanted)
        guard look({ $0.edition == edition }) else { return nil }
        let isExpected = !isDownload && contact.hasAnsweredLately(now: .now)
        let id = addReader(wanted, isCut: isCut, isExpected: isExpected)
        do {
            if try await reachFirstByte(id, wanted.lowerBound, isCut, isDownload),
                let opening = try finish(id, requested, present, inquiry, isCut: isCut)
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

    /// Adds a reader, of the representation or beside it.
    ///
    /// - Parameter isExpected: whether the origin answered lately, and is waited for a little while its connections fail.
    private func addReader(_ wanted: ByteRange, isCut: Bool, isExpected: Bool) -> ReaderState.ID {
        let isBound = isBound
        return change { state in
            state.isBound = isBound
            let isBeside = !isCut && state.boundStep(for: wanted) == .apart
            let id = isBeside ? state.addReaderApart(wanted) : state.addReader(wanted)
            return (id, isExpected ? state.expect(id) : Effects())
        }
    }

    /// Whether a request cannot be sent on before the length is known: the last bytes, and those past every end.
    private func needsLength(_ requested: RequestedRange) -> Bool {
        if case .suffix = requested { return true }
        return requested.firstByte ?? 0 >= ContentInformation.mostBytes
    }

    /// The bytes that a request means, where the representation is known. An origin that cannot jump gives everything.
    private func resolve(_ requested: RequestedRange, _ information: ContentInformation) throws -> ByteRange {
        guard !answersWhole(requested, information) else { return 0..<(information.length ?? .max) }
        guard let length = information.length else { return provisional(requested) }
        guard let range = requested.resolved(length: length) else {
            var error = VaultError(
                .unsatisfiableRange,
                "the range lies outside the \(length) bytes of the resource; ask for one within them")
            error.length = length
            throw error
        }
        return range
    }

    /// Whether ranges cannot be given: the origin cannot jump and not all is held, or nobody knows the length and the
    /// bytes asked for are not there.
    private func answersWhole(_ requested: RequestedRange, _ information: ContentInformation) -> Bool {
        guard let length = information.length else {
            guard case .closed = requested else { return true }
            return look { !$0.present.gaps(in: provisional(requested)).isEmpty }
        }
        return !information.supportsRanges && look { $0.mode.asksOrigins && !$0.present.gaps(in: 0..<length).isEmpty }
    }

    /// Whether an origin can be asked for this byte: the last bytes are named by no number, and some numbers are too large.
    private func mayExist(_ first: Int64?) -> Bool { first.map { $0 < ContentInformation.mostBytes } ?? false }

    /// Where a request begins in what is known; nil where that is outside.
    private func firstByte(_ requested: RequestedRange) -> Int64? {
        look { $0.information }.flatMap { try? resolve(requested, $0).lowerBound }
    }

    private func provisional(_ requested: RequestedRange) -> ByteRange {
        let first = requested.firstByte ?? 0
        return first..<max(first, requested.endLimit ?? .max)
    }

    /// Whether what is missing of a range cannot be fetched, as far as that must be known before the first byte: a
    /// range that begins with held bytes promises an end, and one that has no validator begins anew.
    private func isCutOff(_ wanted: ByteRange) async throws -> Bool {
        let (mode, isFirstHeld, hasGap) = look { state in
            (
                state.mode, state.present.contains(wanted.lowerBound),
                !state.present.gaps(in: wanted.clamped(to: 0..<(state.information?.length ?? .max))).isEmpty
            )
        }
        guard mode.asksOrigins else { return true }
        let isFresh = canGoOn(to: wanted)
        guard hasGap, isFirstHeld || !isFresh else { return false }
        guard isFresh else {
            // What is held would be let go: the origin must be there.
            guard try await reachOrigin(within: Revalidation.patience) == true else { return true }
            change { $0.forget() }
            return false
        }
        // What is held is given at once. An origin that is merely silent is waited for at the hole.
        return try await reachOrigin(within: look { $0.retry.policy.moment }) == false
    }

    /// Whether a representation may be filled further. One that cannot be told from another version may not where its
    /// bytes came in an earlier run: their connection is gone.
    private func canGoOn(to wanted: ByteRange) -> Bool {
        let isBound = isBound
        return change { state in
            state.isBound = isBound
            let isLost = isBound && state.connection == nil && !state.present.isEmpty
            return (!isLost && state.boundStep(for: wanted) != .begin, Effects())
        }
    }

    /// Waits until the first byte is there, or nothing is wanted.
    ///
    /// - Returns: false where the representation changed.
    private func reachFirstByte(
        _ id: ReaderState.ID, _ position: Int64, _ isCut: Bool, _ isDownload: Bool
    ) async throws -> Bool {
        while true {
            if isCut, look({ !$0.present.contains(position) && $0.information?.length != position }) {
                throw MediaReader.hole(at: position, isDamage: look { $0.map.damaged.contains(position) })
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
        _ id: ReaderState.ID, _ requested: RequestedRange, _ present: ByteRanges, _ inquiry: RevalidationOutcome, isCut: Bool
    ) throws -> Opening? {
        guard let information = look({ $0.information }), let entityTag = record.entityTag else { return nil }
        let isWhole = answersWhole(requested, information)
        // What the first answer said decides: where it gives no ranges, the reader begins at byte 0.
        let range = isWhole ? information.length.map { 0..<$0 } : try resolve(requested, information)
        let promised = range ?? 0..<Int64.max
        // The origin can jump after all, though the reader began at byte 0: it is opened anew.
        guard isWhole || look({ $0.readers[id]?.position == promised.lowerBound }) else { return nil }
        change { ($0.place(id, promised, isWhole: requested == .whole), Effects()) }
        var given = range
        if isCut, requested != .whole, let wanted = range {
            let run = look { $0.present.run(at: wanted.lowerBound) }
            given = run.map { $0.clamped(to: wanted) } ?? wanted
        }
        return Opening(
            reader: id, information: information, entityTag: tag(entityTag, of: information, for: id), range: given,
            isWholeAnswer: isWhole && requested != .whole, isShortened: given != range, isCutOff: isCut,
            // Of what is cut off nothing is fetched.
            source: isCut ? .held : .of(range, present), inquiry: inquiry)
    }

    /// The vault's name for what a reader gives. What nothing tells from another version has a weak one, and what is given
    /// beside it one of its own.
    private func tag(
        _ entityTag: EntityTag, of information: ContentInformation, for id: ReaderState.ID
    ) -> EntityTag {
        guard look({ $0.readers[id]?.isApart ?? false }) else { return name(entityTag, of: information) }
        return EntityTag(weak: "\(entityTag.opaque)-\(id)")
    }

    /// Finds out how long the resource is.
    private func learnLength() async throws {
        guard look({ $0.mode.asksOrigins }) else { throw MediaReader.hole(at: 0, isDamage: false) }
        _ = try await learnInformation()
    }

    /// What is known of the resource, its origin asked where nothing is.
    func head() async throws -> MediaHead {
        try await ready()
        let inquiry = try await revalidateIfStale(at: nil)
        let isKnown = look { $0.information != nil }
        let information = try await learnInformation()
        guard let entityTag = record.entityTag else { throw MediaReader.changed(url, 0) }
        return MediaHead(
            information: information, entityTag: name(entityTag, of: information),
            source: .of(information.length.map { 0..<$0 }, look { $0.present }),
            isKnown: isKnown, isWholeAnswer: answersWhole(.from(0), information),
            bypass: bypass(for: information.length),
            staleness: inquiry.staleness, originStatus: inquiry.originStatus)
    }

    /// Why bytes that would be fetched now are not stored.
    private func bypass(for length: Int64?) -> StoreRefusal? {
        look { state in
            let isHeld = length.map { state.present.gaps(in: 0..<$0).isEmpty } ?? false
            return isHeld || !state.refusesAll ? nil : state.bypass
        }
    }
}

extension MediaReader.Source {
    /// Where the bytes of a range lie, given those that are there.
    fileprivate static func of(_ range: ByteRange?, _ present: ByteRanges) -> MediaReader.Source {
        guard let range else { return .fetched }
        if present.gaps(in: range).isEmpty { return .held }
        return present.overlaps(with: range).isEmpty ? .fetched : .partial
    }
}

/// What opening a resource found: all that an answer's head needs.
struct Opening {
    let reader: ReaderState.ID
    let information: ContentInformation
    let entityTag: EntityTag
    let range: ByteRange?
    let isWholeAnswer: Bool
    let isShortened: Bool
    /// Whether the origin was found to be out of reach: nobody waits for it at a hole.
    let isCutOff: Bool
    let source: MediaReader.Source
    let inquiry: RevalidationOutcome
}

extension Opening {
    /// Everything asked for is held.
    init(_ held: LoaderState.Held, reader: ReaderState.ID, entityTag: EntityTag) {
        self.init(
            reader: reader, information: held.information, entityTag: entityTag, range: held.range,
            isWholeAnswer: false,
            isShortened: false, isCutOff: false, source: .held, inquiry: RevalidationOutcome())
    }
}
