package import VaultModel
import VaultStorage

/// One reader of one resource: its bytes in order, opened where they are held, fetched where they are not.
///
/// One consumer at a time. Letting go of it ends its share of what is being fetched; bytes that came are kept. Nothing is
/// read ahead of what is asked for but a bounded window, however large the media.
public final class MediaReader: AsyncSequence, AsyncIteratorProtocol, Sendable {
    /// Bytes, at most ``chunkBytes`` of them.
    public typealias Element = [UInt8]
    /// The reader itself.
    public typealias AsyncIterator = MediaReader

    /// Where the bytes asked for lay when the reader was opened.
    public enum Source: Sendable {
        /// All in the vault.
        case held
        /// None in the vault.
        case fetched
        /// Some in the vault.
        case partial
    }

    /// Length, type, validators and range support of the representation.
    public let information: ContentInformation
    /// The vault's own name for the representation, the same for as long as its bytes are: strong, but where the origin says
    /// nothing that tells one version from another.
    public let entityTag: EntityTag
    /// The bytes that will be given; nil where the length is not known: then everything, from 0 to an end nobody knows.
    public let range: ByteRange?
    /// Whether the reader gives everything although a range was asked for: the origin cannot jump, or its length is not
    /// known.
    public let isWholeAnswer: Bool
    /// Whether ``range`` ends before a byte that is missing and cannot be fetched.
    public let isShortened: Bool
    /// Where the bytes lay when the reader was opened.
    public let source: Source
    /// Why held bytes are given although their origin was not found to have them still; nil where they are fresh, or
    /// were confirmed.
    public let staleness: Staleness?
    /// The status of the origin's answer when it was asked, for this reader, whether what is held is still its own: 304, or
    /// another where it knows no conditions or refused; nil where it was not asked, or did not answer.
    public let originStatus: Int?

    /// The most bytes given at a time: two blocks.
    public static let chunkBytes = 64 << 10

    let loader: ResourceLoader
    private let lease: LoaderLease
    private let id: ReaderState.ID
    private let progress: Locked<Progress>

    private struct Progress {
        var position: Int64
        var isEnded = false
    }

    init(_ opening: Opening, loader: ResourceLoader, lease: LoaderLease) {
        self.loader = loader
        self.lease = lease
        id = opening.reader
        information = opening.information
        entityTag = opening.entityTag
        range = opening.range
        isWholeAnswer = opening.isWholeAnswer
        isShortened = opening.isShortened
        source = opening.source
        staleness = opening.inquiry.staleness
        originStatus = opening.inquiry.originStatus
        progress = Locked(Progress(position: opening.range?.lowerBound ?? 0))
        if !opening.isCutOff { loader.change { $0.begin(opening.reader, isDownload: false) } }
    }

    deinit { loader.change { $0.removeReader(id) } }

    /// Itself: there is one position.
    public func makeAsyncIterator() -> MediaReader { self }

    /// Ends the reader; a call of ``next()`` that waits throws `CancellationError`, later ones give nil.
    public func cancel() {
        progress.withLock { $0.isEnded = true }
        loader.change { $0.removeReader(id) }
    }

    /// Whether the next byte is on its way from the origin rather than in the vault.
    public var isWaitingForOrigin: Bool {
        let position = progress.withLock { $0.position }
        return loader.look { !$0.present.contains(position) }
    }

    /// Whether held bytes are given that their origin may have others for by now: see ``staleness``.
    public var isStale: Bool { staleness != nil }

    /// Why the bytes that come from the origin are handed on without being stored; nil where they are stored, and where
    /// all is held. It is true for the moment: a store that refuses is asked again, and may take the next ones.
    public var bypass: StoreRefusal? { bypass(of: source) }

    /// The same of bytes that lie elsewhere than the reader's own.
    package func bypass(of source: Source) -> StoreRefusal? {
        source == .held ? nil : loader.look { $0.refusesAll ? $0.bypass : $0.bypass(id) }
    }

    /// The next bytes, at most ``chunkBytes``; nil at the end.
    ///
    /// - Throws: ``VaultError`` where the next byte can neither be opened nor fetched, with `firstMissing` set;
    ///   `CancellationError` where the task was cancelled.
    public func next() async throws -> [UInt8]? { try await next(atMost: Self.chunkBytes) }

    /// The next bytes, at most so many of them; nil at the end.
    ///
    /// - Throws: as ``next()``.
    package func next(atMost count: Int) async throws -> [UInt8]? {
        while true {
            let position = progress.withLock { $0.isEnded ? nil : $0.position }
            guard let position, let end = range?.upperBound ?? .some(.max), position < end else { return nil }
            switch loader.step(id) {
            case .finished: return nil
            case .take(let bytes):
                return advance(Array(bytes.prefix(Int(Swift.min(end - position, Int64(count))))))
            case .open(let segment, let run):
                let wanted = run.clamped(to: position..<Swift.min(end, chunkEnd(position, count, segment)))
                if let bytes = try await open(wanted, of: segment) { return advance(bytes) }
            case .wait, .fetch: try await loader.waitAsPlayer(id)
            case .changed: throw Self.changed(loader.url, position)
            case .hole(_, let isDamage): throw Self.hole(at: position, isDamage: isDamage)
            case .failed(let failure): throw failure.vaultError(for: loader.url, at: position)
            }
        }
    }

    /// Chunks end at block boundaries, so that no block is opened twice.
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

    /// Opens sealed bytes; nil where they turned out to be damaged and are a gap now.
    private func open(_ wanted: ByteRange, of segment: SegmentDescription) async throws -> [UInt8]? {
        let kept = loader.opened.reader(of: segment.id)
        let record = loader.record
        do {
            // What lies in memory is opened where it is wanted; only what has to be waited for takes a thread.
            if let bytes = try kept?.bytesAtHand(wanted, of: segment) { return bytes }
            let (reader, bytes) = try await loader.pool.run {
                let reader = try kept ?? record.reader(of: segment)
                return (reader, try reader.bytes(wanted, of: segment))
            }
            if kept == nil { loader.opened.keep(reader, of: segment.id) }
            return bytes
        } catch SegmentFailure.unreadable(let failure) where loader.isOffline {
            // The bytes are there, and nothing can stand in for them.
            throw failure.vaultError("a segment cannot be read")
        } catch SegmentFailure.missing where loader.isBesideOwner {
            await loader.lookAgain(without: segment)
            return nil
        } catch let failure as SegmentFailure {
            await loader.condemn(segment, for: failure)
            return nil
        }
    }

    static func changed(_ url: MediaURL, _ position: Int64) -> VaultError {
        var error = VaultError(.changed, "\(url) changed at its origin while it was read; open it again")
        error.firstMissing = position
        return error
    }

    static func hole(at position: Int64, isDamage: Bool) -> VaultError {
        var error =
            isDamage
            ? VaultError(.integrity, "the bytes from \(position) on are damaged; go online to fetch them anew")
            : VaultError(.notHeld, "the bytes from \(position) on are not held; go online to fetch them")
        error.firstMissing = position
        return error
    }
}

// Several ranges of one representation, of which the reader gives the first.
extension MediaReader {
    /// What can be given of ranges, in their order, and where it lies.
    ///
    /// All of them, where nothing is missing or the origin answers; else each up to what is missing, and none of which the
    /// first byte is.
    package func obtainable(of ranges: [ByteRange]) async throws -> (ranges: [ByteRange], source: Source) {
        let (mode, present) = loader.look { ($0.mode, $0.present) }
        guard ranges.contains(where: { !present.gaps(in: $0).isEmpty }) else { return (ranges, .held) }
        let moment = loader.look { $0.retry.policy.moment }
        if mode.asksOrigins, try await loader.reachOrigin(within: moment) != false {
            return (ranges, ranges.contains { !present.overlaps(with: $0).isEmpty } ? .partial : .fetched)
        }
        return (ranges.compactMap { present.run(at: $0.lowerBound)?.clamped(to: $0) }, .held)
    }
}

/// What is known of a resource without reading it: what an answer to HEAD is made from.
public struct MediaHead: Hashable, Sendable {
    /// Length, type, validators and range support of the representation.
    public let information: ContentInformation
    /// The vault's own name for the representation, the same for as long as its bytes are: strong, but where the origin says
    /// nothing that tells one version from another.
    public let entityTag: EntityTag
    /// Where its bytes lie.
    public let source: MediaReader.Source
    /// Whether the vault knew what the resource is before it was asked for this head.
    public let isKnown: Bool
    /// Whether ranges cannot be given yet: the origin cannot jump and not all is held, or its length is not known.
    public let isWholeAnswer: Bool
    /// Why bytes that would be fetched now are not stored; nil where they are.
    public let bypass: StoreRefusal?
    /// Why this is told although the origin was not found to say the same still; nil where it is fresh, or was confirmed.
    public let staleness: Staleness?
    /// The status of the origin's answer when it was asked, for this head, whether what is held is still its own: 304, or
    /// another where it knows no conditions or refused; nil where it was not asked, or did not answer.
    public let originStatus: Int?

    /// Whether the origin may have something else by now: see ``staleness``.
    public var isStale: Bool { staleness != nil }
}
