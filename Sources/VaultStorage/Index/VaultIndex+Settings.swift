import Foundation
import GRDB
import VaultCrypto
package import VaultModel

extension VaultIndex {
    /// Changes settings; what nobody changes stays as it is.
    package func changeSettings(_ change: (inout VaultSettings) throws -> Void) throws {
        guard let key = try keyring.indexKey(locator: locator) else { throw IndexError.damaged }
        try write { db in
            var settings = try openSettings(try Data.fetchOne(db, sql: "SELECT settings FROM vault") ?? Data())
            try change(&settings)
            let sealed = try SealedDocument.seal(
                settings.object, key: key.secret, associatedData: Self.settingsData(keyring.vaultID))
            try db.execute(sql: "UPDATE vault SET settings = ?", arguments: [sealed.data])
        }
    }

    /// Whether there is a resource of this id.
    package func hasResource(_ id: ResourceID) throws -> Bool {
        try read { db in
            try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT * FROM resource WHERE id = ?)", arguments: [id.data])
                ?? false
        }
    }
}
