import VaultFetch
package import VaultModel
import VaultStorage

/// Opens the resource of a loader for one request: adds a reader that is promised a range.
package struct LoaderOpening: Sendable {
    private let loader: ResourceLoader
    private let requested: RequestedRange
    private let isDownload: Bool

    /// - Parameters:
    ///   - requested: the requested range.
    ///   - isDownload: whether the reader belongs to a download. Other downloads do not yield to such a reader, and it
    ///     is informed of a failure at once.
    package init(of loader: ResourceLoader, _ requested: RequestedRange, isDownload: Bool = false) {
        (self.loader, self.requested, self.isDownload) = (loader, requested, isDownload)
    }

    /// Opens the resource.
    ///
    /// Returns once the length and type are known and the first byte is available.
    ///
    /// - Throws: ``VaultError``; `CancellationError`.
    package func run() async throws -> Opening {
        try await loader.ready()
        // If the representation changes while it is being opened, the resource is opened again, a limited number of
        // times.
        for _ in 0..<Self.maxAttempts {
            if let opening = try await attempt() { return opening }
        }
        throw MediaReader.changed(loader.url, requested.firstByte ?? 0)
    }

    /// The maximum number of attempts. A wrong first length may cost two of them: one to learn the right length, and
    /// one to get the bytes at its end.
    private static let maxAttempts = 4

    /// Makes one attempt to open the resource.
    ///
    /// - Returns: nil if another attempt is needed, because the representation changed or an unconfirmed length was
    ///   dropped.
    private func attempt() async throws -> Opening? {
        if needsLength, loader.information?.length == nil { try await learnLength() }
        let revalidation = try await loader.check.revalidateIfStale(at: firstByte)
        let (known, edition, present) = loader.look { ($0.known.information, $0.readers.edition, $0.present) }
        let wanted: ByteRange
        do {
            wanted = try known.map(resolve) ?? provisional
        } catch let error as VaultError
            where error.code == .unsatisfiableRange && mayExist && loader.forgetUnconfirmedLength()
        {
            return nil
        }
        let isCut = try await isCutOff(wanted)
        guard loader.look({ $0.readers.edition == edition }) else { return nil }
        let isExpected = !isDownload && loader.origin.contact.hasAnsweredLately(now: .now)
        guard let id = addReader(wanted, isCut: isCut, isExpected: isExpected) else { return nil }
        do {
            if try await reachFirstByte(id, wanted.lowerBound, isCut),
                let opening = try finish(
                    id, loader.look({ $0.readers.edition }) == edition ? present : ByteRanges(), revalidation,
                    isCut: isCut)
            {
                return opening
            }
            loader.change { $0.removeReader(id) }
            return nil
        } catch {
            loader.change { $0.removeReader(id) }
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
        let url = loader.origin.urls.current.url
        return loader.update { state in
            state.known.bind(by: loader.versions, at: url)
            let step = isCut ? .share : state.boundStep(for: wanted)
            guard step != .begin else { return nil }
            let id = step == .apart ? state.addSeparateReader(wanted) : state.addReader(wanted)
            if isExpected { state.expect(id) }
            return id
        }
    }

    /// Whether the length must be known before the request can be sent. It must for a suffix, and for a start beyond any
    /// possible length.
    private var needsLength: Bool {
        if case .suffix = requested { return true }
        return requested.firstByte ?? 0 >= ContentInformation.maxBytes
    }

    /// Returns the bytes of a known representation to which a request refers.
    ///
    /// If ranges cannot be served, that is the whole representation.
    ///
    /// - Throws: ``VaultError`` with code `unsatisfiableRange` and `length` set if the range is outside the
    ///   representation.
    private func resolve(_ information: ContentInformation) throws -> ByteRange {
        guard !answersWhole(information) else { return 0..<(information.length ?? .max) }
        guard let length = information.length else { return provisional }
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
    func answersWhole(_ information: ContentInformation) -> Bool {
        guard let length = information.length else {
            guard case .closed = requested else { return true }
            return loader.look { !$0.present.gaps(in: provisional).isEmpty }
        }
        return !information.supportsRanges
            && loader.look { $0.mode.allowsRequests && !$0.present.gaps(in: 0..<length).isEmpty }
    }

    /// Whether the origin can be asked for the first byte. A suffix has no first byte, and some offsets are too large.
    private var mayExist: Bool { requested.firstByte.map { $0 < ContentInformation.maxBytes } ?? false }

    /// Where the request begins in the known representation; nil if no representation is known, or if the range is
    /// outside it.
    private var firstByte: Int64? { loader.information.flatMap { try? resolve($0).lowerBound } }

    private var provisional: ByteRange {
        let first = requested.firstByte ?? 0
        return first..<max(first, requested.endLimit ?? .max)
    }

    /// Returns whether the missing part of a range cannot be fetched.
    ///
    /// The origin is asked only if this must be known before the first byte is served. That is so if the answer begins
    /// with held bytes, because it then promises an end, or if a representation without a validator would have to begin
    /// again.
    private func isCutOff(_ wanted: ByteRange) async throws -> Bool {
        let (mode, isFirstHeld, hasGap) = loader.look { state in
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
            let limit = loader.retryPolicy.revalidationTimeLimit
            guard try await loader.check.reachOrigin(within: limit) == true else { return true }
            // Another reader may have been added in the meantime, so check again before the representation is
            // forgotten.
            canGoOn(to: wanted, forgetting: true)
            return false
        }
        // Held bytes are served at once. If the origin is merely silent, the reader waits for it on reaching the gap.
        return try await loader.check.reachOrigin(within: loader.retryPolicy.moment) == false
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
        let url = loader.origin.urls.current.url
        return loader.change { state in
            state.known.bind(by: loader.versions, at: url)
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
        _ id: ReaderState.ID, _ position: Int64, _ isCut: Bool
    ) async throws -> Bool {
        while true {
            if isCut, loader.look({ !$0.present.contains(position) && $0.known.information?.length != position }) {
                throw MediaReader.hole(at: position, isDamage: loader.look { $0.known.map.damaged.contains(position) })
            }
            switch loader.step(id) {
            case .take, .open, .finished: return true
            case .wait, .fetch:
                if isDownload { try await loader.waitForWake(id) } else { try await loader.waitAsPlayer(id) }
            case .changed: return false
            case .hole(_, let isDamage): throw MediaReader.hole(at: position, isDamage: isDamage)
            case .failed(let failure): throw failure.vaultError(for: loader.url, at: position)
            }
        }
    }

    private func finish(
        _ id: ReaderState.ID, _ present: ByteRanges, _ revalidation: RevalidationOutcome,
        isCut: Bool
    ) throws -> Opening? {
        let (known, edition) = loader.look { ($0.known.information, $0.readers.edition) }
        guard let information = known, let entityTag = loader.record.entityTag else { return nil }
        let isWhole = answersWhole(information)
        // The first answer decides. If it ignored the range, the reader begins at byte 0.
        let range = isWhole ? information.length.map { 0..<$0 } : try resolve(information)
        let promised = range ?? 0..<Int64.max
        // The origin supports ranges after all, but the reader began at byte 0, so the resource must be opened again.
        guard isWhole || loader.look({ $0.readers[id]?.position == promised.lowerBound }) else { return nil }
        let isPlaced = loader.update {
            $0.place(id, promised, of: edition, isWhole: requested == .whole, isCut: isCut)
        }
        guard isPlaced else { return nil }
        var given = range
        if isCut, requested != .whole, let wanted = range {
            let run = loader.look { $0.present.run(at: wanted.lowerBound) }
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
        guard loader.look({ $0.readers[id]?.isSeparate ?? false }) else {
            return loader.name(entityTag, of: information)
        }
        return EntityTag(weak: "\(entityTag.opaque)-\(id)")
    }

    /// Finds out the resource's length.
    private func learnLength() async throws {
        guard !loader.isOffline else { throw MediaReader.hole(at: 0, isDamage: false) }
        _ = try await InformationLookup(of: loader).learn()
    }
}

extension MediaReader.Source {
    /// Returns where the bytes of a range are, given which bytes are present.
    static func of(_ range: ByteRange?, _ present: ByteRanges) -> MediaReader.Source {
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
