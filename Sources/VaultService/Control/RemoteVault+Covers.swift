package import MediaVault
import NIOHTTP1
import VaultModel

// Covers of titles, which the service stores.
extension RemoteVault {
    package func setCover(_ picture: [UInt8]?, of reference: MediaReference) async throws {
        guard let id = try await resource(reference)?.id else {
            throw VaultError(.notHeld, "the vault has no record of \(reference); fetch it first")
        }
        let body = try picture.map { try JSONText.bytes(of: CoverDetails($0)) }
        let _: EmptyDocument = try await document(
            ControlRequest(picture == nil ? .DELETE : .PUT, .coverByID, of: id, body: body ?? []))
    }
}
