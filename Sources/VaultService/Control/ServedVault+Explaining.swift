package import MediaVault
import NIOHTTP1

extension ServedVault {
    /// Where the bytes of the service's last answers came from.
    package func explanation(_ reference: MediaReference) async throws -> ExplanationDocument {
        try await document(ControlQuestion(.explanation, reference: reference))
    }
}
