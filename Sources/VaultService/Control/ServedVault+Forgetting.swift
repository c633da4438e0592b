package import MediaVault
import NIOHTTP1

// What is sealed anew, what is forgotten, and what was done.
extension ServedVault {
    package func reseal(
        _ references: [MediaReference], bytesPerSecond: Int64?, progress: (ResealStep) async throws -> Void
    ) async throws -> ResealReport {
        let order = ResealingOrder(references, bytesPerSecond: bytesPerSecond)
        return try await events(ControlQuestion(.POST, .reseals, body: order), progress)
    }

    package func shred(_ references: [MediaReference], quick: Bool) async throws -> ShredDocument {
        try await document(ControlQuestion(.POST, .shreds, body: ShredOrder(references, quick: quick)))
    }

    package func audit() async throws -> AuditDocument { try await document(ControlQuestion(.GET, .audit)) }

    package func destroy(vaultID: String) async throws -> DestructionDocument {
        try await document(ControlQuestion(.POST, .destructions, body: DestructionOrder(vault: vaultID)))
    }
}
