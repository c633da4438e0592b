import VaultCache
import VaultCrypto
import VaultModel
import VaultStorage

// The audit log, a signed receipt for each key operation.
extension KeyAdministration {
    /// Reads and checks the vault's audit log: a signed receipt for each key operation.
    ///
    /// The report shows whether lines were changed, swapped or removed, and whether the log is shorter than the keyring
    /// states.
    ///
    /// - Throws: ``VaultError`` with code `storage` if the log cannot be read.
    public func audit() async throws -> AuditReport {
        let store = environment.store
        return try await environment.pool.run { try AuditLog.report(on: store.folder, keyring: store.keyring) }
    }

    /// Checks the whole log as ``audit()`` does, but returns only the receipts about certain resources, whether or not
    /// the vault still has these. The faults in the report are those of the whole log.
    ///
    /// Receipts from before a locator change are not found, because the names of their subjects were computed with a
    /// key that no longer exists.
    ///
    /// - Throws: the errors of ``audit()``; ``VaultError`` with code `foreignKeyring` if the keyring cannot name
    ///   resources.
    public func audit(about references: [MediaReference]) async throws -> AuditReport {
        let subjects = Set(try references.flatMap(receiptSubjects))
        var report = try await audit()
        report.receipts.removeAll { receipt in !(receipt.subject.map(subjects.contains) ?? false) }
        return report
    }

    /// Returns the names that receipts may use for a resource: its plain name, and one name for each principal.
    private func receiptSubjects(of reference: MediaReference) throws -> [String] {
        let (keyring, locator, log) = (environment.store.keyring, environment.store.index.locator, environment.log)
        return try environment.loaders.environment.names.allKeys(of: environment.loaders.settled(reference)).compactMap
        { key in
            log.subject(of: try key.id(keyring: keyring, locator: locator))
        }
    }

    /// Returns whether a vault still has a keyring.
    public static func hasKeyring(_ place: VaultPlace) -> Bool { PosixFileSystem().exists(place.keyring) }

    /// Reads and checks the audit log of a vault that is not open, or can no longer be opened.
    ///
    /// - Parameters:
    ///   - place: where the vault and its keyring are.
    ///   - unlock: the method that opens the keyring. If nil, the check covers only the signatures and the order of
    ///     the lines, so a log with lines missing from its end looks intact.
    /// - Throws: the errors of ``Vault/open(_:unlock:options:)`` if the keyring does not open; ``VaultError`` with code
    ///   `storage` if the log cannot be read.
    public static func audit(_ place: VaultPlace, unlock: Unlock?) async throws -> AuditReport {
        try place.requireAbsolute()
        return try await BlockingPool.shared.run {
            let keyring = try unlock.map { unlock in
                let secret = try unlock.secret()
                return try KeyringReader.unlock(KeyringFile.read(place.keyring), with: secret)
            }
            return try AuditLog.report(on: place.folder, keyring: keyring)
        }
    }
}

extension KeyringOrder.Act {
    /// The operation's name in the audit log.
    var receipt: Receipt.Act {
        switch self {
        case .add: .addSlot
        case .replace: .changeSlot
        case .remove: .removeSlot
        case .backup: .backup
        }
    }
}
