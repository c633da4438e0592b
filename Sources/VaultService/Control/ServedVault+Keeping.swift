package import MediaVault
import NIOHTTP1

// What stays, what goes, and what is checked.
extension ServedVault {
    package func remove(_ reference: MediaReference) async throws -> RemovalDocument {
        try await document(ControlQuestion(.POST, .removals, body: ReferenceDocument(reference)))
    }

    package func pin(_ reference: MediaReference) async throws {
        let _: NothingDocument = try await document(
            ControlQuestion(.POST, .pins, body: ReferenceDocument(reference)))
    }

    package func unpin(_ reference: MediaReference) async throws {
        let _: NothingDocument = try await document(
            ControlQuestion(.POST, .unpins, body: ReferenceDocument(reference)))
    }

    package func setMode(_ mode: VaultMode?, of reference: MediaReference) async throws {
        let _: NothingDocument = try await document(
            ControlQuestion(.POST, .modes, body: ModeOrder(reference, mode)))
    }

    package func prune(_ limits: LimitsDocument) async throws -> PruneDocument {
        try await document(ControlQuestion(.POST, .prunes, body: limits))
    }

    package func verify(
        _ options: VerifyOptions, progress: (VerificationProgress) async throws -> Void
    ) async throws -> VerifyDocument {
        try await events(ControlQuestion(.POST, .verifications, body: VerificationOrder(options)), progress)
    }

    package func revokeLinks() async throws {
        let _: NothingDocument = try await document(ControlQuestion(.POST, .revocations))
    }

    package func lock() async throws {
        let _: NothingDocument = try await document(ControlQuestion(.POST, .locks))
    }

    package func keyring() async throws -> KeyringListing {
        try await document(ControlQuestion(.GET, .keyring))
    }

    package func carryOut(_ order: KeyringOrder) async throws {
        let _: NothingDocument = try await document(ControlQuestion(.POST, .keyring, body: order))
    }

    package func settings() async throws -> SettingsDocument {
        try await document(ControlQuestion(.GET, .settings))
    }

    package func change(_ change: SettingsChange) async throws -> SettingsDocument {
        try await document(ControlQuestion(.PATCH, .settings, body: change))
    }
}
