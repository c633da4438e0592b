import MediaVault

// The life of the keys.
extension LocalVault {
    package func keys() async throws -> KeysDocument { KeysDocument(try await vault.keyReport()) }

    package func rotate() async throws -> KeysDocument { KeysDocument(try await vault.rotateKeys()) }

    package func rotateRoot(unlockedBy keys: [SlotKey], droppingOtherSlots: Bool) async throws -> KeysDocument {
        let unlocks = try keys.map { try $0.unlock }
        return KeysDocument(try await vault.rotateRoot(unlockedBy: unlocks, droppingOtherSlots: droppingOtherSlots))
    }

    package func changeLocator() async throws -> KeysDocument { KeysDocument(try await vault.changeLocator()) }

    package func rewrap(progress: (RewrapStep) async throws -> Void) async throws -> RewrapDocument {
        var report: RewrapReport?
        for try await step in vault.rewrapKeys() {
            report = step.report ?? report
            try await progress(RewrapStep(step))
        }
        // One that was not cancelled ends with its report.
        guard let report else { throw CancellationError() }
        return RewrapDocument(report)
    }

    package func retire(_ generation: Int) async throws -> KeysDocument {
        KeysDocument(try await vault.retireGeneration(generation))
    }
}
