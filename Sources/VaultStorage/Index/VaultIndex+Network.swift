import GRDB
import VaultCrypto
import VaultModel

extension VaultIndex {
    /// Merges the network row into settings that were opened without it.
    func addNetwork(to settings: inout VaultSettings, _ db: Database) throws {
        // A missing row, or one that was written with other settings, does not hold the network settings that were set.
        switch try SealedTable.network.content(of: keyring.vaultID.bytes, recordKeys(db), db) {
        case .missing where settings.networkRevision == 0: break
        case .members(let members) where settings.wereWritten(with: members):
            settings.network = NetworkMembers(ofRow: members)
        case .missing, .unreadable, .members: settings.network = NetworkMembers(ofRow: nil)
        }
    }

    /// Writes the network members to their row if they were changed.
    func write(_ network: NetworkMembers, _ db: Database) throws {
        guard network.isChanged, let members = network.members else { return }
        try SealedTable.network.write(members, of: keyring.vaultID.bytes, recordKeys(db), db)
    }
}
