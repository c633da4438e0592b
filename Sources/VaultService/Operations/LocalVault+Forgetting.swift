package import MediaVault

// What is sealed anew, what is forgotten, and what was done.
extension LocalVault {
    package func reseal(
        _ references: [MediaReference], bytesPerSecond: Int64?, progress: (ResealStep) async throws -> Void
    ) async throws -> ResealReport {
        var report: ResealReport?
        for try await step in vault.reseal(references, bytesPerSecond: bytesPerSecond) {
            report = step.report ?? report
            try await progress(ResealStep(step))
        }
        // One that was not cancelled ends with its report.
        guard let report else { throw CancellationError() }
        return report
    }

    package func shred(_ references: [MediaReference], quick: Bool) async throws -> ShredDocument {
        ShredDocument(try await vault.shred(references, quick: quick))
    }

    package func audit() async throws -> AuditDocument { AuditDocument(try await vault.audit()) }

    package func destroy(vaultID: String) async throws -> DestructionDocument {
        DestructionDocument(try await vault.destroy(vaultID: vaultID))
    }
}
