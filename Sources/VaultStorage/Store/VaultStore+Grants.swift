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

    /// Removes grants from the index durably. Their records are erased from its log and from `catalog.backup` within a
    /// minute.
    ///
    /// - Parameter withUnreadable: whether to remove the rows that do not open, too.
    package func removeGrants(_ ids: [GrantID], withUnreadable: Bool = false) throws {
        guard !ids.isEmpty || withUnreadable else { return }
        try withDiskSpace(orReserve: true) { try index.removeGrants(ids, withUnreadable: withUnreadable) }
        noteChange()
    }

    /// Records when grants were last used.
    package func note(_ uses: [GrantID: Int64]) throws {
        guard isOwner, !uses.isEmpty else { return }
        try index.note(uses)
        noteChange()
    }
}
