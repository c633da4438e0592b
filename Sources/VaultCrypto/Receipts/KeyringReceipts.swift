package import VaultModel

/// Signs the receipts of a vault's audit log with its keyring, and derives the names of the resources in them.
package struct KeyringReceipts {
    private let keyring: Keyring

    package init(_ keyring: Keyring) { self.keyring = keyring }

    /// Returns the facts from the keyring that the log must match.
    package func anchor() throws -> AuditChecker.Anchor {
        let keys = keyring.keys
        return AuditChecker.Anchor(
            vaultID: keyring.vaultID, publicKey: try ReceiptSignature.publicKey(of: keys.receiptSeed.secret),
            sequence: keys.receiptSequence)
    }

    /// The number of the last receipt that the keyring counts.
    package var sequence: Int64 { keyring.keys.receiptSequence }

    /// Signs a receipt.
    ///
    /// - Parameters:
    ///   - previous: the hash of the previous line.
    ///   - edit: the keyring change that the receipt records. If the change replaces the receipt key, both keys sign.
    /// - Returns: the log line, without a line ending.
    package func sign(_ receipt: Receipt, previous: [UInt8], with edit: KeyringEdit? = nil) throws -> [UInt8] {
        let own = keyring.keys.receiptSeed
        let new = try edit.map { try $0.open($0.document.receiptKey, .receipt) } ?? own
        let isOther = try ReceiptSignature.publicKey(of: new.secret) != ReceiptSignature.publicKey(of: own.secret)
        return try ReceiptLine.bytes(
            receipt, vaultID: keyring.vaultID, previous: previous, seed: new.secret, former: isOther ? own : nil)
    }

    /// Returns the name that receipts use for a resource; nil if the keyring has no such locator.
    package func subject(of resource: ResourceID, locator: Int) -> [UInt8]? {
        keyring.keys.locators[locator].map { KeyDerivation.value(from: $0.secret, .audit, resource.bytes) }
    }

    /// Returns the bytes of a keyring file that also counts this receipt, so that truncation of the log can be
    /// detected.
    ///
    /// - Throws: as ``KeyringReader`` if the file does not belong to this keyring.
    package func counting(_ receipt: Receipt, in file: [UInt8]) throws -> [UInt8] {
        var edit = try keyring.editing(file)
        edit.document.receiptSequence = receipt.sequence
        return try edit.finished().bytes
    }
}
