import VaultCrypto
import VaultModel

/// Finds the valid part of a segment whose writer was killed.
enum SegmentRecovery {
    enum Outcome {
        /// The segment, truncated to its valid part and durable, so that it can be closed.
        case recovered(SegmentDescription)
        /// The file is missing, no part of it is valid, or the valid part could not be made durable.
        case lost
        /// The file system failed, so nothing is known about the bytes.
        case unreadable
    }

    /// Opens blocks in order until one fails or the file ends, truncates the file there, and syncs it.
    ///
    /// A short last block that opens is kept, so that no received byte is lost.
    static func recover(
        _ segment: SegmentDescription, resourceKey: borrowing SecretKey, in store: any SegmentStore
    ) throws -> Outcome {
        let key = try SegmentKey(resourceKey: resourceKey, segment: segment)
        let file: any StoredFile
        var recovered = segment
        do throws(FileFailure) {
            file = try store.open(segment.id, writable: true)
            recovered.length = try validLength(of: segment, key: key, file)
        } catch {
            return error.kind == .notFound ? .lost : .unreadable
        }
        guard recovered.length > 0 else { return .lost }
        do throws(FileFailure) {
            try file.truncate(to: recovered.fileSize)
            try file.synchronize()
            try store.synchronizeName(of: segment.id)
        } catch {
            // A failed sync is never retried, because the next one might succeed for pages that the disk never
            // received.
            return .lost
        }
        return .recovered(recovered)
    }

    private static func validLength(
        of segment: SegmentDescription, key: SegmentKey, _ file: any StoredFile
    ) throws(FileFailure) -> Int64 {
        let header = try file.read(count: SegmentDescription.headerByteCount, at: 0)
        guard case .genuine = key.judge(header) else { return 0 }
        var good: Int64 = 0
        var block = 0
        while good + Int64(segment.blockSize) <= SegmentDescription.maxBytes {
            let sealed = try file.read(
                count: segment.blockSize + SegmentDescription.tagByteCount, at: segment.fileOffset(ofBlock: block))
            let plain = sealed.count - SegmentDescription.tagByteCount
            guard plain > 0, opens(sealed, block, key) else { break }
            good += Int64(plain)
            guard plain == segment.blockSize else { break }
            block += 1
        }
        return good
    }

    private static func opens(_ sealed: [UInt8], _ block: Int, _ key: SegmentKey) -> Bool {
        unsafe withUnsafeTemporaryAllocation(byteCount: sealed.count, alignment: 16) { output in
            unsafe sealed.withUnsafeBytes { unsafe key.open($0, block: block, into: output) }
        }
    }
}
