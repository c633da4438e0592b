import VaultManifest
public import VaultModel
import VaultStorage

/// Reads one resource in order: held bytes from the vault, and the others from the origin.
///
/// A reader has one consumer at a time. Releasing the reader ends its share of the fetches; bytes already received are
/// kept. It reads ahead no further than a bounded window, however large the media file is.
public final class MediaReader: AsyncSequence, AsyncIteratorProtocol, Sendable {
    /// A chunk of bytes, at most ``chunkBytes`` long.
    public typealias Element = [UInt8]
    /// The reader itself.
    public typealias AsyncIterator = MediaReader

    /// Where the requested bytes were when a reader was opened.
    public enum Source: Sendable {
        /// All of the bytes were in the vault.
        case held
        /// None of the bytes were in the vault.
        case fetched
        /// Some of the bytes were in the vault.
        case partial
    }

    /// The length, type, validators and range support of the representation.
    public let information: ContentInformation
    /// The vault's own entity tag for the representation.
    ///
    /// The tag stays the same as long as the bytes do. It is strong unless the origin sends nothing that distinguishes
    /// one version from another.
    public let entityTag: EntityTag
    /// The range of bytes to read; nil if the length is unknown, in which case the reader returns everything from byte
    /// 0 to the end.
    public let range: ByteRange?
    /// Whether the reader returns the whole resource although a range was requested.
    ///
    /// This is the case if the origin does not support ranges, or if the length is unknown.
    public let isWholeAnswer: Bool
    /// Whether ``range`` ends early, because the next byte is missing and cannot be fetched.
    public let isShortened: Bool
    /// Where the requested bytes were when the reader was opened.
    public let source: Source
    /// Why held bytes are served without confirmation by their origin; nil if they are fresh or were confirmed.
    public let staleness: Staleness?
    /// The status of the origin's answer; nil if the origin was not asked for this reader whether the held bytes are
    /// current, or did not answer.
    ///
    /// The status is 304, or another one if the origin ignores conditions or refused the request.
    public let originStatus: Int?

    /// The maximum number of bytes returned at a time: two blocks.
    public static let chunkBytes = 64 << 10

    package let loader: ResourceLoader
    private let reference: MediaReference
    private let lease: LoaderLease
    private let id: ReaderState.ID
    private let progress: Locked<Progress>

    private struct Progress {
        var position: Int64
        var isEnded = false
    }

    package init(_ opening: Opening, of reference: MediaReference, loader: ResourceLoader, lease: LoaderLease) {
        self.loader = loader
        self.reference = reference
        self.lease = lease
        id = opening.reader
        information = opening.information
        entityTag = opening.entityTag
        range = opening.range
        isWholeAnswer = opening.isWholeAnswer
        isShortened = opening.isShortened
        source = opening.source
        staleness = opening.revalidation.staleness
        originStatus = opening.revalidation.originStatus
        progress = Locked(Progress(position: opening.range?.lowerBound ?? 0))
        if !opening.isCutOff { loader.update { $0.begin(opening.reader, isDownload: false) } }
    }

    deinit { loader.change { $0.removeReader(id) } }

    /// Records that the first bytes of the resource are media.
    package func noteMedia() { loader.noteMedia(id) }

    /// Returns the reader itself, because a reader has only one position.
    public func makeAsyncIterator() -> MediaReader { self }

    /// Ends the reader. ``next()`` then returns nil, even to a caller that is already waiting.
    public func cancel() {
        progress.withLock { $0.isEnded = true }
        loader.change { $0.removeReader(id) }
    }

    /// Whether the next byte has yet to come from the origin.
    public var isWaitingForOrigin: Bool {
        let position = progress.withLock { $0.position }
        return loader.look { !$0.present.contains(position) }
    }

    /// Whether the reader serves held bytes that may be outdated: see ``staleness``.
    public var isStale: Bool { staleness != nil }

    /// Why bytes from the origin are passed on without being stored; nil if they are stored, or if all bytes are held.
    ///
    /// This may change with the next bytes, because a store that has refused bytes is asked again.
    public var bypass: BypassReason? { bypass(of: source) }

    /// Returns the same as ``bypass``, but for bytes whose source is not the reader's own.
    package func bypass(of source: Source) -> BypassReason? {
        source == .held ? nil : loader.look { $0.permissions.refusesAll ? $0.permissions.bypass : $0.bypass(id) }
    }

    /// Returns the next bytes, at most ``chunkBytes``; nil at the end.
    ///
    /// - Throws: ``VaultError`` with `firstMissing` set if the next byte can be neither opened nor fetched;
    ///   `CancellationError` if the task was cancelled.
    public func next() async throws -> [UInt8]? { try await next(atMost: Self.chunkBytes) }

    /// Returns the next bytes, at most `count`; nil at the end.
    ///
    /// - Throws: the errors of ``next()``.
    package func next(atMost count: Int) async throws -> [UInt8]? {
        while true {
            let position = progress.withLock { $0.isEnded ? nil : $0.position }
            guard let position, let end = range?.upperBound ?? .some(.max), position < end else { return nil }
            switch loader.step(id) {
            case .finished: return nil
            case .take(let bytes):
                try requireGivable(position)
                return advance(Array(bytes.prefix(Int(Swift.min(end - position, Int64(count))))))
            case .open(let segment, let run):
                let wanted = run.clamped(to: position..<Swift.min(end, chunkEnd(position, count, segment)))
                if let bytes = try await open(wanted, of: segment) {
                    try requireGivable(position)
                    return advance(bytes)
                }
            case .wait, .fetch: try await loader.waitAsPlayer(id)
            case .changed: throw Self.changed(loader.url, position)
            case .hole(_, let isDamage): throw Self.hole(at: position, isDamage: isDamage)
            case .failed(let failure): throw failure.vaultError(for: loader.url, at: position)
            }
        }
    }

    /// Requires that the next bytes may be served, because the host may have led to another address since the reader
    /// was opened.
    private func requireGivable(_ position: Int64) throws {
        guard reference.isDerived else { return }
        try DerivedAccess(to: loader, for: reference).require(loader.information, at: position)
    }

    /// Returns where a chunk ends: at a block boundary, so that no block has to be opened twice.
    private func chunkEnd(_ position: Int64, _ count: Int, _ segment: SegmentDescription) -> Int64 {
        let block = segment.range(ofBlock: segment.block(holding: position))
        return block.lowerBound + Int64(Swift.max(count, segment.blockSize))
    }

    private func advance(_ bytes: [UInt8]) -> [UInt8] {
        let position = progress.withLock { progress in
            progress.position += Int64(bytes.count)
            return progress.position
        }
        loader.change { $0.advance(id, to: position) }
        return bytes
    }

    /// Opens sealed bytes; returns nil if the segment was damaged or missing, so that the caller has to try another
    /// step.
    private func open(_ wanted: ByteRange, of segment: SegmentDescription) async throws -> [UInt8]? {
        let kept = loader.opened.reader(of: segment.id)
        let record = loader.record
        do {
            // Bytes that are already in memory are opened on the caller's thread. Only waiting for the disk takes up a
            // thread of the pool.
            if let bytes = try kept?.bytesAtHand(wanted, of: segment) { return bytes }
            let (reader, bytes) = try await loader.pool.run {
                let reader = try kept ?? record.reader(of: segment)
                return (reader, try reader.bytes(wanted, of: segment))
            }
            if kept == nil { loader.opened.keep(reader, of: segment.id) }
            return bytes
        } catch SegmentFailure.unreadable(let failure) where loader.isOffline {
            // The bytes are held, and while the vault is offline nothing can replace them.
            throw failure.vaultError("a segment cannot be read")
        } catch SegmentFailure.missing where !loader.store.isOwner || loader.record.place != nil {
            await loader.reloadIndex(without: segment)
            return nil
        } catch let failure as SegmentFailure {
            await loader.invalidate(segment, for: failure)
            return nil
        }
    }

    static func changed(_ url: MediaURL, _ position: Int64) -> VaultError {
        var error = VaultError(.changed, "\(url) changed at its origin while it was being read; open it again")
        error.firstMissing = position
        return error
    }

    package static func hole(at position: Int64, isDamage: Bool) -> VaultError {
        var error =
            isDamage
            ? VaultError(.integrity, "the bytes from \(position) on are damaged; go online to fetch them again")
            : VaultError(.notHeld, "the bytes from \(position) on are not held; go online to fetch them")
        error.firstMissing = position
        return error
    }
}

// Answers with several ranges of one representation, the first of which the reader returns.
extension MediaReader {
    /// Returns which of several ranges can be served, in the given order, and where their bytes are.
    ///
    /// All of them can be served if nothing is missing, or if the origin may be asked and does not turn out to be
    /// unreachable. Otherwise, each range is cut off before its first missing byte, and ranges whose first byte is
    /// missing are left out.
    package func obtainable(of ranges: [ByteRange]) async throws -> (ranges: [ByteRange], source: Source) {
        let (mode, present) = loader.look { ($0.mode, $0.present) }
        guard ranges.contains(where: { !present.gaps(in: $0).isEmpty }) else { return (ranges, .held) }
        let moment = loader.retryPolicy.moment
        if mode.allowsRequests, try await loader.check.reachOrigin(within: moment) != false {
            return (ranges, ranges.contains { !present.overlaps(with: $0).isEmpty } ? .partial : .fetched)
        }
        return (ranges.compactMap { present.run(at: $0.lowerBound)?.clamped(to: $0) }, .held)
    }
}

/// What is known of a resource without reading it, as needed for an answer to HEAD.
public struct MediaHead: Hashable, Sendable {
    /// The length, type, validators and range support of the representation.
    public let information: ContentInformation
    /// The vault's own entity tag for the representation.
    ///
    /// The tag stays the same as long as the bytes do. It is strong unless the origin sends nothing that distinguishes
    /// one version from another.
    public let entityTag: EntityTag
    /// Where the bytes of the resource are.
    public let source: MediaReader.Source
    /// Whether the vault knew what the resource is before this head was requested.
    public let isKnown: Bool
    /// Whether ranges cannot be served yet.
    ///
    /// This is the case if the origin does not support ranges and some bytes are not held, or if the length is unknown.
    public let isWholeAnswer: Bool
    /// Why bytes fetched now would not be stored; nil if they would be.
    public let bypass: BypassReason?
    /// Why the information is reported without confirmation by the origin; nil if it is fresh or was confirmed.
    public let staleness: Staleness?
    /// The status of the origin's answer; nil if the origin was not asked for this head whether the held bytes are
    /// current, or did not answer.
    ///
    /// The status is 304, or another one if the origin ignores conditions or refused the request.
    public let originStatus: Int?

    /// Whether the resource may have changed at its origin: see ``staleness``.
    public var isStale: Bool { staleness != nil }
}

extension MediaReader {
    /// Returns the first bytes of the resource, or nil at the end. They are enough to identify the content, unless the
    /// resource has too few.
    ///
    /// - Throws: the errors of ``next()``.
    package func start() async throws -> [UInt8]? {
        guard var start = try await next() else { return nil }
        while start.count < ManifestContent.bytesNeeded(after: start), let more = try await next() { start += more }
        return start
    }
}
