import VaultModel
import VaultStorage

/// The bytes of one representation that is wholly held. Calls block.
struct ExportSource: Sendable {
    private let url: MediaURL
    private var resource: StoredResource
    private var map: SegmentMap
    private var open: (segment: SegmentDescription, reader: SegmentReader)?

    /// The length of the whole.
    let length: Int64

    /// The most bytes opened at a time.
    private static let chunkBytes: Int64 = 1 << 20

    /// - Throws: ``VaultError`` with code `notHeld` where a byte is missing.
    init(_ store: VaultStore, _ id: ResourceID, _ url: MediaURL) throws {
        self.url = url
        guard let resource = try store.index.resource(id), let serving = resource.serving else {
            throw VaultError(.notHeld, "the vault holds nothing of \(url); fetch it first")
        }
        guard let length = serving.info.information.length else {
            throw VaultError(.notHeld, "nobody knows how long \(url) is, so it cannot be whole; fetch it first")
        }
        self.length = length
        self.resource = resource
        map = SegmentMap(serving)
        try requireWhole()
    }

    private func requireWhole() throws {
        let gaps = map.covered.gaps(in: 0..<length)
        guard let first = gaps.first else { return }
        let count = gaps.reduce(0) { $0 + $1.length }
        var error = VaultError(
            .notHeld,
            "\(count) of \(length) bytes of \(url) are missing, the first at byte \(first.lowerBound); fetch it first")
        error.firstMissing = first.lowerBound
        throw error
    }

    /// The bytes from an offset on, one chunk of them.
    mutating func bytes(at position: Int64, of store: VaultStore) throws -> [UInt8] {
        do {
            return try openedBytes(at: position, of: store)
        } catch SegmentFailure.missing {
            // Removed or put elsewhere since the index was read: looked up once more.
            open = nil
            let known = resource.serving?.id
            guard let resource = try store.index.resource(resource.id), let serving = resource.serving,
                serving.id == known
            else { throw VaultError(.notHeld, "\(url) was removed or replaced while it was exported; fetch it again") }
            self.resource = resource
            map = SegmentMap(serving)
            try requireWhole()
            do {
                return try openedBytes(at: position, of: store)
            } catch let failure as SegmentFailure {
                throw Self.damage(at: position, failure)
            }
        } catch let failure as SegmentFailure {
            throw Self.damage(at: position, failure)
        }
    }

    private mutating func openedBytes(at position: Int64, of store: VaultStore) throws -> [UInt8] {
        guard let (segment, run) = map.segment(at: position) else { throw SegmentFailure.missing }
        let reader: SegmentReader
        if let open, open.segment.id == segment.id {
            reader = open.reader
        } else {
            reader = try store.reader(of: segment, resource: resource)
        }
        open = (segment, reader)
        // Chunks end at block boundaries, so that no block is opened twice.
        let block = segment.range(ofBlock: segment.block(holding: position)).lowerBound
        let end = min(run.upperBound, block + max(Self.chunkBytes, Int64(segment.blockSize)))
        return try reader.bytes(position..<end, of: segment)
    }

    private static func damage(at position: Int64, _ failure: SegmentFailure) -> VaultError {
        var error: VaultError
        switch failure {
        case .unreadable(let failure): error = failure.vaultError("a segment cannot be read")
        default:
            error = VaultError(
                .integrity, "the bytes from \(position) on are damaged; mend them with verify --repair")
        }
        error.firstMissing = position
        return error
    }
}
