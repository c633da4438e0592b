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
    /// - Parameter previous: the hash of the line before.
    package func sign(_ receipt: Receipt, previous: [UInt8]) throws -> [UInt8] {
        try ReceiptLine.bytes(receipt, vaultID: vaultID, previous: previous, seed: keys.receiptSeed.secret)
    }

    /// What receipts call a resource; nil where the keyring has no such locator.
    package func auditSubject(of resource: ResourceID, locator: Int) -> [UInt8]? {
        keys.locators[locator].map { KeyDerivation.value(from: $0.secret, .audit, resource.bytes) }
    }

    /// Writes down how many receipts there are, so that a log that is cut shows. Blocks.
    ///
    /// - Throws: as ``change(reading:writing:_:)``.
    package func noteReceipt(
        _ sequence: Int64, reading read: () throws -> [UInt8], writing write: ([UInt8]) throws -> Void
    ) throws {
        try change(reading: read, writing: write) {
            $0.document.receiptSequence = max($0.document.receiptSequence, sequence)
        }
    }
}
