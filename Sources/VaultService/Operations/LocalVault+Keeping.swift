package import MediaVault

// What stays, what goes, and what is checked.
extension LocalVault {
    package func remove(_ reference: MediaReference) async throws -> RemovalDocument {
        let bytes = try await vault.remove(reference)
        return RemovalDocument(bytes: bytes, isErased: try await !vault.owesErasure())
    }

    package func pin(_ reference: MediaReference) async throws { try await vault.pin(reference) }

    package func unpin(_ reference: MediaReference) async throws { try await vault.unpin(reference) }

    package func setMode(_ mode: VaultMode?, of reference: MediaReference) async throws {
        try await vault.setMode(mode, for: reference)
    }

    package func prune(_ limits: LimitsDocument) async throws -> PruneDocument {
        try limits.check()
        let wanted = limits.namesAny ? limits.laid() : try await vault.status().limits
        return PruneDocument(try await vault.prune(wanted))
    }

    package func verify(
        _ options: VerifyOptions, progress: (VerificationProgress) async throws -> Void
    ) async throws -> VerifyDocument {
        var report: VerifyReport?
        for try await step in vault.verify(options) {
            report = step.report ?? report
            try await progress(VerificationProgress(step))
        }
        // A check that was not cancelled ends with its report.
        guard let report else { throw CancellationError() }
        return VerifyDocument(report)
    }

    package func revokeLinks() async throws { try await vault.revokeLinks() }

    package func keyring() async throws -> KeyringListing { KeyringListing(try await vault.keyringSummary()) }

    package func carryOut(_ order: KeyringOrder) async throws { try await vault.carryOut(order) }

    package func lock() async throws { await vault.close() }

    package func settings() async throws -> SettingsDocument {
        SettingsDocument(try await vault.limits(), try await vault.keyPolicy(), try await vault.modeSetting())
    }

    package func change(_ change: SettingsChange) async throws -> SettingsDocument {
        // What cannot be is refused before anything is written.
        let policy = try change.applied(to: try await vault.keyPolicy())
        let mode = try change.mode.map { try NamedMode($0) }
        if change.limits.namesAny { try await vault.setLimits(change.limits.laid(over: try await vault.limits())) }
        if change.changesPolicy { try await vault.setKeyPolicy(policy) }
        if let mode { try await vault.setMode(mode.mode) }
        return try await settings()
    }
}
