package import VaultModel

// Tokens and named links that the vault has issued.
extension VaultStore {
    /// Returns the grants.
    package func grants() throws -> StoredGrants { try index.grants() }

    /// Adds a grant durably.
    ///
    /// - Parameter others: grants to remove in the same transaction.
    package func add(_ grant: AccessGrant, removing others: [GrantID]) throws {
        try withDiskSpace { try index.add(grant, removing: others) }
        noteChange()
    }

    /// Removes grants durably. Their records are erased from the log and the backup within a minute.
    package func removeGrants(_ ids: [GrantID]) throws {
        guard !ids.isEmpty else { return }
        try withDiskSpace(orReserve: true) { try index.removeGrants(ids) }
        noteChange()
    }

    /// Records when grants were last used.
    package func note(_ uses: [GrantID: Int64]) throws {
        guard isOwner, !uses.isEmpty else { return }
        try index.note(uses)
        noteChange()
    }
}
