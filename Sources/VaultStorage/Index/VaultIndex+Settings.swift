import GRDB
import VaultCrypto
import VaultModel

// The settings in the vault's row, and the network settings in a row of their own.
extension VaultIndex {
    /// Returns the settings.
    ///
    /// - Throws: ``VaultError`` with code `integrity` if they do not open.
    package func settings() throws -> VaultSettings {
        try read { db in try self.settings(db) }
    }

    func settings(_ db: Database) throws -> VaultSettings { try openedSettings(db, withNetwork: true).settings }

    /// Opens the settings, and also returns the locator that the vault's row names.
    ///
    /// That locator may differ from ``locator``, because the owner may have changed it since this index was opened, and
    /// ``locator`` follows a change only after its transaction.
    ///
    /// - Parameter withNetwork: whether to open the network settings, too.
    func openedSettings(
        _ db: Database, withNetwork: Bool = false
    ) throws -> (settings: VaultSettings, locator: Int) {
        guard let row = try VaultRow.fetch(db), let locator = row.locator, var settings = try row.openSettings(keyring)
        else {
            throw VaultError(
                .integrity, "the vault's settings failed authentication; rebuild the index", hint: .rebuildIndex)
        }
        if withNetwork { try addNetwork(to: &settings, db) }
        return (settings, locator)
    }

    /// Changes the settings. Those that `change` does not set keep their values.
    package func changeSettings(_ change: (inout VaultSettings) throws -> Void) throws {
        try write { db in try self.changeSettings(db, change) }
    }

    func changeSettings(_ db: Database, _ change: (inout VaultSettings) throws -> Void) throws {
        var (settings, locator) = try openedSettings(db, withNetwork: true)
        try change(&settings)
        try write(settings, locator: locator, db)
    }

    /// Seals and writes settings, along with the locator that the vault's row is to name.
    func write(_ settings: VaultSettings, locator: Int, _ db: Database) throws {
        var settings = settings
        try settings.bindNetwork()
        try VaultRow.update(settings: VaultRow.seal(settings, keyring), locator: locator, db)
        try write(settings.network, db)
    }

    /// Raises the number of fetched bytes, in the transaction that stores these bytes.
    func countFetched(_ total: Int64, _ db: Database) throws {
        var (settings, locator) = try openedSettings(db)
        guard total > settings.bytesFetched else { return }
        settings.bytesFetched = total
        try write(settings, locator: locator, db)
    }

    /// Records the number of bytes fetched since the vault was created.
    package func countFetched(_ total: Int64) throws {
        try write { db in try self.countFetched(total, db) }
    }

    /// Merges the network row into settings that were opened without it.
    private func addNetwork(to settings: inout VaultSettings, _ db: Database) throws {
        // A missing row, or one that was written with other settings, does not hold the network settings that were set.
        switch try SealedTable.network.content(of: keyring.vaultID.bytes, recordKeys(db), db) {
        case .missing where settings.networkRevision == 0: break
        case .members(let members) where settings.wereWritten(with: members):
            settings.network = NetworkMembers(ofRow: members)
        case .missing, .unreadable, .members: settings.network = NetworkMembers(ofRow: nil)
        }
    }

    /// Writes the network members to their row if they were changed.
    private func write(_ network: NetworkMembers, _ db: Database) throws {
        guard network.isChanged, let members = network.members else { return }
        try SealedTable.network.write(members, of: keyring.vaultID.bytes, recordKeys(db), db)
    }
}
