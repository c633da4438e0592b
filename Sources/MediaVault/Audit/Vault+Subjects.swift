import VaultCrypto
import VaultModel
import VaultStorage

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
