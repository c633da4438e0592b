package import VaultModel

// What the audit log is written and checked with.
extension Keyring {
    /// What the log must agree with.
    package func auditAnchor() throws -> AuditCheck.Anchor {
        let keys = keys
        return AuditCheck.Anchor(
            vaultID: vaultID, publicKey: try ReceiptSignature.publicKey(of: keys.receiptSeed.secret),
            sequence: keys.receiptSequence)
    }

    /// The number of the last receipt that the keyring knows of.
    package var receiptSequence: Int64 { keys.receiptSequence }

    /// Signs a receipt: the line of the log, without a line end.
    ///
    /// - Parameters:
    ///   - previous: the hash of the line before.
    ///   - edit: what the receipt is written together with: where it has another key for receipts both sign.
    package func sign(_ receipt: Receipt, previous: [UInt8], with edit: KeyringEdit? = nil) throws -> [UInt8] {
        let own = keys.receiptSeed
        let new = try edit.map { try $0.open($0.document.receiptKey, .receipt) } ?? own
        let isOther = try ReceiptSignature.publicKey(of: new.secret) != ReceiptSignature.publicKey(of: own.secret)
        return try ReceiptLine.bytes(
            receipt, vaultID: vaultID, previous: previous, seed: new.secret, former: isOther ? own : nil)
    }

    /// What receipts call a resource; nil where the keyring has no such locator.
    package func auditSubject(of resource: ResourceID, locator: Int) -> [UInt8]? {
        keys.locators[locator].map { KeyDerivation.value(from: $0.secret, .audit, resource.bytes) }
    }

    /// The bytes of a keyring's file that counts a receipt, so that a log that is cut shows.
    ///
    /// - Throws: as ``KeyringReader`` where the file is not this keyring's.
    package func counting(_ receipt: Receipt, in file: [UInt8]) throws -> [UInt8] {
        var edit = try editing(file)
        edit.document.receiptSequence = receipt.sequence
        return try edit.finished().bytes
    }
}
