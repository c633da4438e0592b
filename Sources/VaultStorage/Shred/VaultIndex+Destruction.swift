import GRDB

extension VaultIndex {
    /// Deletes every resource with its keys and all that it holds.
    ///
    /// - Returns: how many there were.
    func removeAll() throws -> Int {
        try write { db in
            let count = try Int.fetchOne(db, sql: "SELECT count(*) FROM resource") ?? 0
            try db.execute(
                sql: """
                    INSERT OR IGNORE INTO doomed SELECT id FROM segment;
                    DELETE FROM segment;
                    DELETE FROM representation;
                    DELETE FROM resourceKey;
                    DELETE FROM resource;
                    """)
            return count
        }
    }
}
