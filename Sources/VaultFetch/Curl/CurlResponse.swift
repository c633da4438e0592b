import VaultModel

/// An answer that libcurl receives.
final class CurlResponse: OriginResponse {
    let head: OriginHead
    let transfer: Transfer
    /// Keeps the loop's thread going for as long as the body may be read.
    private let origin: CurlOrigin

    init(head: OriginHead, transfer: Transfer, origin: CurlOrigin) {
        self.head = head
        self.transfer = transfer
        self.origin = origin
    }

    deinit { transfer.cancel() }

    func nextBytes() async throws -> [UInt8]? { try await transfer.bytes() }

    func cancel() { transfer.cancel() }

    func end() -> [[UInt8]] { transfer.end() }
}
