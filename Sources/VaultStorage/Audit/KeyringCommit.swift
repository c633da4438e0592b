package import VaultCrypto
import VaultModel

/// One change to a vault's keyring together with its receipt, from reading the keyring file to recording the new
/// revision in the index.
///
/// The log is written first, then the keyring file, and the index last. A crash in between can therefore leave one
/// receipt too many, but never one too few, and an index that is older than its keyring, but never newer.
struct KeyringCommit {
    let store: VaultStore
    /// The location of the keyring file.
    let place: KeyringPlace
    let log: AuditFile
    let receipt: AuditLog.Content
    /// Whether the operation is already done, so that the keyring only counts the receipt.
    ///
    /// The index then does not require a keyring that counts it, because a backup made just before must remain usable.
    let isDone: Bool

    /// Makes the change.
    ///
    /// - Returns: what `edit` returns, and the new receipt.
    /// - Throws: ``VaultError`` if the log, the keyring or the index cannot be read or written. The keyring is then
    ///   unchanged, with two exceptions. If the row of a new generation cannot be written, the keyring file is already
    ///   the new one, but this process continues with the keys that it had. If only the revision cannot be recorded,
    ///   both the file and the keys in use are the new ones. In any case, the receipt of an operation that is already
    ///   done stays in the log.
    func run<Result>(_ edit: (inout KeyringEdit) throws -> Result) throws -> (result: Result, receipt: Receipt) {
        // Prepare: detect an index that cannot be written while nothing has changed yet.
        let end = try AuditLog.translating(isDone ? failure : "audit.log cannot be read") { () throws(FileFailure) in
            try log.end()
        }
        if !isDone { try store.withDiskSpace { try GenerationRows(store.index).prepareForKeyring() } }
        do {
            let last = try AuditLog.sequence(before: end, in: log, by: store.keyring)
            var line: [UInt8] = []
            let made = try store.keyring.change(reading: place.read) { editing in
                // Edit.
                let result = try edit(&editing)
                // Receipt: it must be durable before the keyring counts it.
                let new = receipt.receipt(
                    after: max(last, editing.document.receiptSequence), current: Int(editing.document.current),
                    time: store.index.now())
                line = try AuditLog.line(new, after: end, signedBy: store.keyring, with: editing)
                editing.document.receiptSequence = new.sequence
                return (result, new)
            } writing: { finished in
                try store.withDiskSpace {
                    try AuditLog.translating(failure) { () throws(FileFailure) in try log.append(line, at: end) }
                }
                // Write the keyring file, and add the row of its current generation.
                try finished.write(to: place, of: store)
            }
            if !isDone { try store.withDiskSpace { try store.index.recordKeyringRevision() } }
            return made
        } catch {
            // A line for a change that was not made would be false. If it is uncertain whether the change was made, the
            // line stays.
            if !isDone, isUncounted(end) { try? log.cut(to: end) }
            throw error
        }
    }

    /// The error message for a receipt that cannot be written, which says whether the operation was done.
    private var failure: String {
        isDone
            ? "done, but the receipt cannot be written to audit.log"
            : "the receipt cannot be written to audit.log, so nothing was done"
    }

    /// Returns whether it is certain that the keyring file counts no receipt after a given end of the log.
    private func isUncounted(_ end: AuditFile.End) -> Bool {
        guard let now = try? log.end(), now.offset > end.offset,
            let document = try? store.keyring.document(of: place.read()),
            let last = try? AuditLog.sequence(before: now, in: log, by: store.keyring)
        else { return false }
        return document.receiptSequence < last
    }
}

extension KeyringPlace {
    /// Changes the keyring of a vault without logging a receipt.
    ///
    /// - Parameter isRemembered: whether the index requires, from then on, a keyring at least as new as this one.
    /// - Throws: the same errors as ``KeyringCommit/run(_:)``.
    package func changeKeyring<Result>(
        of store: VaultStore, isRemembered: Bool = true, _ edit: (inout KeyringEdit) throws -> Result
    ) throws -> Result {
        let result = try store.keyring.change(reading: read, edit) { try $0.write(to: self, of: store) }
        if isRemembered { try store.withDiskSpace { try store.index.recordKeyringRevision() } }
        return result
    }
}

extension FinishedKeyring {
    /// Makes the new keyring durable, and adds the row of its current generation before this process uses its keys,
    /// because the rows of the resource keys that they wrap refer to that row.
    fileprivate func write(to place: KeyringPlace, of store: VaultStore) throws {
        try place.write(bytes)
        try store.withDiskSpace { try GenerationRows(store.index).addGeneration(currentGeneration) }
    }
}
