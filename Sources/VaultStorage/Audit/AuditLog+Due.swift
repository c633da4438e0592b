import VaultCrypto
package import VaultModel

// Receipts that are due: the index remembers them until they are written, and an owner may be killed in between.
extension AuditLog {
    /// The number of the last receipt: one that becomes due now will have a higher one.
    ///
    /// - Throws: ``VaultError`` where the log cannot be read.
    package func lastSequence() throws -> Int64 {
        let end = try Self.translating("audit.log cannot be read") { () throws(FileFailure) in try file.end() }
        return max(try Self.sequence(before: end, in: file, by: store.keyring), store.keyring.receiptSequence)
    }

    /// The receipts behind a number that this vault's own key has signed. The keyring counts them from now on, where their
    /// writer was killed before it did.
    ///
    /// - Parameter sequence: nil where nobody has noted it: then there are none.
    /// - Throws: ``VaultError`` where the log cannot be read, or the keyring not be written.
    package func receipts(after sequence: Int64?) throws -> [Receipt] {
        guard let sequence else { return [] }
        let anchor = try store.keyring.auditAnchor()
        var receipts: [Receipt] = []
        var key = anchor.publicKey
        try Self.translating("audit.log cannot be read") { () throws(FileFailure) in
            try file.forEachLineFromEnd { bytes, _ in
                // What others wrote must not end the search either.
                guard let line = ReceiptLine(bytes), line.isSigned(with: key, for: anchor.vaultID) else { return true }
                // Before a new root key another one signed.
                if line.publicKey == key, let former = line.former { key = former }
                guard line.receipt.sequence > sequence else { return false }
                receipts.append(line.receipt)
                return true
            }
        }
        if let last = receipts.map(\.sequence).max(), last > anchor.sequence {
            try writing.withLock { _ in
                try store.changeKeyring(at: place, isRemembered: false) { editing in
                    editing.document.receiptSequence = max(editing.document.receiptSequence, last)
                }
            }
        }
        return receipts
    }
}
