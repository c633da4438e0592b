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
        for _ in 0..<3 {
            if let opening = try await attemptOpening(requested, isDownload) { return opening }
        }
        throw MediaReader.changed(url, requested.firstByte ?? 0)
    }

    /// Adds a reader for a request that can be answered with held bytes alone, fresh ones; nil for every other.
    func openHeld(_ requested: RequestedRange) -> Opening? {
        let now = store.now()
        return change { state in
            guard let held = state.held(requested, now: now) else { return (nil, Effects()) }
            return (Opening(held, reader: state.addReader(of: held)), Effects())
        }
    }

    /// Nil where the representation changed meanwhile.
    private func attemptOpening(_ requested: RequestedRange, _ isDownload: Bool) async throws -> Opening? {
        if needsLength(requested), look({ $0.information?.length }) == nil { try await learnLength() }
        let inquiry = try await inquire(at: firstByte(requested))
        let (known, edition, present) = look { ($0.information, $0.edition, $0.present) }
        let wanted = try known.map { try resolve(requested, $0) } ?? provisional(requested)
        let isCut = try await isCutOff(wanted)
        guard look({ $0.edition == edition }) else { return nil }
        let isExpected = !isDownload && contact.hasAnsweredLately(now: .now)
        let id = change { state in
            let id = state.addReader(wanted)
            return (id, isExpected ? state.expect(id) : Effects())
        }
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
        let isFresh = canGoOn()
        guard hasGap, isFirstHeld || !isFresh else { return false }
        guard try await reachOrigin() else { return true }
        if !isFresh { change { $0.forget() } }
        return false
    }

    /// Whether a representation may be filled further. One that cannot be told from another version is filled only as
    /// long as this loader, which has fetched all of it, lives.
    private func canGoOn() -> Bool {
        look { state in
            guard let information = state.information, !information.validators.canVerify else { return true }
            return state.hasFetched
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
        _ id: ReaderState.ID, _ requested: RequestedRange, _ present: ByteRanges, _ inquiry: Inquiry, isCut: Bool
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
            reader: id, information: information, entityTag: entityTag, range: given,
            isWholeAnswer: isWhole && requested != .whole, isShortened: given != range, isCutOff: isCut,
            // Of what is cut off nothing is fetched.
            source: isCut ? .held : .of(range, present), inquiry: inquiry)
    }

    /// Finds out how long the resource is: by a HEAD, or by its first byte where HEAD is refused.
    private func learnLength() async throws {
        guard look({ $0.mode.asksOrigins }) else { throw MediaReader.hole(at: 0, isDamage: false) }
        _ = try await learnInformation()
    }

    /// What is known of the resource, its origin asked where nothing is.
    func head() async throws -> MediaHead {
        try await ready()
        let inquiry = try await inquire(at: nil)
        let isKnown = look { $0.information != nil }
        let information = try await learnInformation()
        guard let entityTag = record.entityTag else { throw MediaReader.changed(url, 0) }
        return MediaHead(
            information: information, entityTag: entityTag,
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

    /// Finds out what a resource is without reading it.
    func learnInformation() async throws -> ContentInformation {
        try await ready()
        if let known = look({ $0.information }) { return known }
        guard look({ $0.mode.asksOrigins }) else { throw MediaReader.hole(at: 0, isDamage: false) }
        do {
            return try await askHead()
        } catch let failure as OriginFailure {
            guard case .refused(let status, _) = failure.kind, [400, 403, 405, 501].contains(status) else {
                throw FetchFailure.origin(failure).vaultError(for: url, at: 0)
            }
            // Some origins have no HEAD: the first byte, which is kept, tells as much.
            let opening = try await open(.closed(first: 0, last: 0))
            change { $0.removeReader(opening.reader) }
            return opening.information
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
