import GRDB
import VaultCrypto

extension VaultIndex {
    /// Deletes every resource with its keys and all that it holds.
    ///
    /// - Returns: how many there were, with those that were deleted when this was done before and the vault was not
    ///   destroyed after all.
    func removeAll() throws -> Int64 {
        try write { db in
            var count = try Int64.fetchOne(db, sql: "SELECT count(*) FROM resource") ?? 0
            // Settings that do not open keep nothing from being destroyed.
            if var settings = try? settings(db) {
                settings.destroyedResources += count
                count = settings.destroyedResources
                try write(settings, db)
            }
            try db.execute(
                sql: """
                    INSERT OR IGNORE INTO doomed SELECT id FROM segment;
                    DELETE FROM segment;
                    DELETE FROM representation;
                    DELETE FROM resourceKey;
                    DELETE FROM resource;
                    """)
            try Self.oweErasure(db)
            return count
        }
    }
}

extension VaultSettings {
    /// Resources that were deleted when the vault was to be destroyed; 0 where it never was.
    var destroyedResources: Int64 {
        get { (try? members.optionalInteger("destroyed")) ?? 0 }
        set { members["destroyed"] = .integer(newValue) }
    }
}
