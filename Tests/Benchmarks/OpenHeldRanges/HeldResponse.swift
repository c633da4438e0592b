import MediaVault
import Synchronization

/// A body of a given number of bytes, as fast as they are read.
final class HeldResponse: OriginResponse {
    let head: OriginHead
    private let left: Mutex<Int64>

    init(head: OriginHead, left: Int64) {
        self.head = head
        self.left = Mutex(left)
    }

    func nextBytes() async throws -> [UInt8]? {
        let count = left.withLock { left in
            let count = min(left, 64 << 10)
            left -= count
            return Int(count)
        }
        return count == 0 ? nil : [UInt8](repeating: 0x5A, count: count)
    }

    func cancel() {}

    func end() -> [[UInt8]] { [] }
}
