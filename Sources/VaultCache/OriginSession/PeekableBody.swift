import VaultModel

/// An answer's body, whose first bytes can be peeked at before they are taken.
final class PeekableBody: Sendable {
    private let response: any OriginResponse
    /// The bytes that were peeked at but have not been taken yet.
    private let peeked = Locked<[UInt8]>([])

    init(_ response: any OriginResponse) { self.response = response }

    /// Returns the first bytes that have not been taken yet: at least `count` of them, unless the body is shorter.
    func peek(atLeast count: Int) async throws -> [UInt8] {
        while peeked.withLock(\.count) < count, let bytes = try await response.nextBytes() {
            peeked.withLock { $0 += bytes }
        }
        return peeked.withLock(\.self)
    }

    /// Takes and returns the next bytes; returns nil once the body has properly ended.
    func next() async throws -> [UInt8]? {
        let bytes = takePeeked()
        return bytes.isEmpty ? try await response.nextBytes() : bytes
    }

    /// Ends the transfer, and returns the bytes received but not taken.
    func end() -> [[UInt8]] { [takePeeked()].filter { !$0.isEmpty } + response.end() }

    private func takePeeked() -> [UInt8] {
        peeked.withLock { bytes in
            defer { bytes = [] }
            return bytes
        }
    }
}
