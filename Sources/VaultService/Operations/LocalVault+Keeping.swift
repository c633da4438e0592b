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
        return PruneDocument(
            try await vault.prune(limits.namesAny ? limits.laid() : nil, isRehearsal: limits.dryRun ?? false))
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
        try change.limits.check()
        let mode = try change.mode.map { try NamedMode($0) }
        // All of it, or nothing.
        let limits: @Sendable (inout RoomLimits) throws -> Void = { $0 = change.limits.laid(over: $0) }
        let policy: @Sendable (() throws -> KeyPolicy) throws -> KeyPolicy = { try change.applied(to: try $0()) }
        try await vault.changeSettings(
            limits: change.limits.namesAny ? limits : nil, policy: change.changesPolicy ? policy : nil,
            mode: mode.map { .some($0.mode) } ?? .none)
        return try await settings()
    }
}
