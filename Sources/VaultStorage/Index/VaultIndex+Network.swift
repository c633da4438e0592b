import GRDB
import VaultCrypto
import VaultModel

extension VaultIndex {
    /// Merges the network row into settings that were opened without it.
    func addNetwork(to settings: inout VaultSettings, _ db: Database) throws {
        // A row that is missing, or was written with other settings, is not the one that was set.
        switch try SealedTable.network.content(of: keyring.vaultID.bytes, recordKeys(db), db) {
        case .missing where settings.networkRevision == 0: break
        case .members(let members) where settings.wereWritten(with: members):
            settings.network = NetworkMembers(ofRow: members)
        case .missing, .unreadable, .members: settings.network = NetworkMembers(ofRow: nil)
        }
    }

    /// Writes the members to their row if they were changed.
    func write(_ network: NetworkMembers, _ db: Database) throws {
        guard network.isChanged, let members = network.members else { return }
        try SealedTable.network.write(members, of: keyring.vaultID.bytes, recordKeys(db), db)
    }
}
