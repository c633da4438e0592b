import VaultCrypto
import VaultModel
import VaultStorage

extension Vault {
    /// Reads and checks the vault's audit log: a signed receipt for each act on its keys.
    ///
    /// A changed, exchanged or missing line is seen, and a log that is shorter than the keyring knows.
    ///
    /// - Throws: ``VaultError`` with code `storage` where the log cannot be read.
    public func audit() async throws -> AuditReport {
        let store = store
        return try await pool.run { try AuditLog.report(on: store.folder, keyring: store.keyring) }
    }

    /// Whether a vault still has a keyring.
    public static func hasKeyring(_ place: VaultPlace) -> Bool { PosixFileSystem().exists(place.keyring) }

    /// Reads and checks the audit log of a vault that is not open, or cannot be opened any more.
    ///
    /// - Parameter unlock: opens the keyring; nil checks without it: each signature, and that each line follows the one
    ///   before. A log that was cut at its end looks sound then.
    /// - Throws: as ``open(_:unlock:options:)`` where the keyring does not open; ``VaultError`` with code `storage`
    ///   where the log cannot be read.
    public static func audit(_ place: VaultPlace, unlock: Unlock?) async throws -> AuditReport {
        try await BlockingPool.shared.run {
            let keyring = try unlock.map { unlock in
                let secret = try unlock.secret()
                return try KeyringReader.unlock(KeyringFile.read(place.keyring), with: secret)
            }
            return try AuditLog.report(on: place.folder, keyring: keyring)
        }
    }
}

// Receipts name a resource by a hash, which only the keyring can make.
extension Vault {
    /// The same as ``audit()``, but only with receipts about some resources, whether the vault still has them or not.
    /// Faults are those of the whole log.
    ///
    /// Receipts from before a new locator are not found: what they call a resource was made with a key that is gone.
    ///
    /// - Throws: as ``audit()``; ``VaultError`` with code `foreignKeyring` where the keyring cannot name resources.
    public func audit(about references: [MediaReference]) async throws -> AuditReport {
        let subjects = Set(try references.flatMap(receiptSubjects))
        var report = try await audit()
        report.receipts.removeAll { receipt in !(receipt.subject.map(subjects.contains) ?? false) }
        return report
    }

    /// What receipts may call a resource: one name for everybody, and one for each principal that some were stored for.
    private func receiptSubjects(of reference: MediaReference) throws -> [String] {
        let (keyring, locator, log) = (store.keyring, store.index.locator, auditLog)
        return try names.allKeys(of: tokens.unwrapped(reference).settled()).compactMap { key in
            log.subject(of: try key.id(keyring: keyring, locator: locator))
        }
    }
}

extension KeyringOrder.Act {
    /// What the audit log calls it.
    var receipt: Receipt.Act {
        switch self {
        case .add: .addSlot
        case .replace: .changeSlot
        case .remove: .removeSlot
        case .backup: .backup
        }
    }
}
