package import VaultCrypto
import VaultModel

/// One change of a vault's keyring with its receipt, from the file as it is to the index that knows the new one.
///
/// The log leads, the keyring file follows, the index comes last. A crash in between therefore leaves one receipt too
/// many, never one too few, and an index that is older than its keyring, never newer.
struct KeyringCommit {
    let store: VaultStore
    /// The place of the keyring file.
    let place: KeyringPlace
    let log: AuditFile
    let receipt: AuditLog.Content
    /// Whether the receipt is for an operation that is already done, and the keyring only counts it.
    ///
    /// The index does not require a keyring that does: a backup made just before must remain usable.
    let isDone: Bool

    /// Makes the change.
    ///
    /// - Returns: what `edit` returns, and the new receipt.
    /// - Throws: ``VaultError`` if the log, the keyring or the index cannot be read or written. The keyring has not
    ///   changed then, with two exceptions. If the row of a new generation cannot be written, the file is the new one,
    ///   and this process continues with the keys that it had. If only the revision cannot be recorded, file and keys
    ///   are the new ones. The receipt of an operation that is done stays in the log in any case.
    func run<Result>(_ edit: (inout KeyringEdit) throws -> Result) throws -> (result: Result, receipt: Receipt) {
        // Prepare: an index that cannot be written is noticed while nothing has changed.
        let end = try AuditLog.translating(isDone ? failure : "audit.log cannot be read") { () throws(FileFailure) in
            try log.end()
        }
        if !isDone { try store.withDiskSpace { try GenerationRows(store.index).prepareForKeyring() } }
        do {
            let last = try AuditLog.sequence(before: end, in: log, by: store.keyring)
            let made = try store.keyring.change(reading: place.read) { editing in
                // Edit.
                var editing = editing
                let result = try edit(&editing)
                // Receipt: durable before the keyring counts it.
                let new = receipt.receipt(
                    after: max(last, editing.document.receiptSequence), current: Int(editing.document.current),
                    time: store.now())
                let line = try AuditLog.line(new, after: end, signedBy: store.keyring, with: editing)
                editing.document.receiptSequence = new.sequence
                let finished = try editing.finish()
                try store.withDiskSpace {
                    try AuditLog.translating(failure) { () throws(FileFailure) in try log.append(line, at: end) }
                }
                // Write and note.
                try finished.write(to: place, of: store)
                return (finished, (result, new))
            }
            if !isDone { try store.withDiskSpace { try store.index.recordKeyringRevision() } }
            return made
        } catch {
            // A line for a change that was not made would be false. If in doubt, the line stays.
            if !isDone, isUncounted(end) { try? log.cut(to: end) }
            throw error
        }
    }

    /// What it means for the operation if the receipt cannot be written.
    private var failure: String {
        isDone
            ? "done, but the receipt cannot be written to audit.log"
            : "the receipt cannot be written to audit.log, so nothing was done"
    }

    /// Whether the keyring file certainly counts no receipt after an end of the log.
    private func isUncounted(_ end: AuditFile.End) -> Bool {
        guard let now = try? log.end(), now.offset > end.offset,
            let document = try? store.keyring.document(of: place.read()),
            let last = try? AuditLog.sequence(before: now, in: log, by: store.keyring)
        else { return false }
        return document.receiptSequence < last
    }
}

extension VaultStore {
    /// Changes the keyring without a receipt.
    ///
    /// - Parameter isRemembered: whether the index then requires a keyring at least as new as this one.
    /// - Throws: as ``KeyringCommit/run(_:)``.
    package func changeKeyring<Result>(
        at place: KeyringPlace, isRemembered: Bool = true, _ edit: (inout KeyringEdit) throws -> Result
    ) throws -> Result {
        let result = try keyring.change(reading: place.read) { editing in
            var editing = editing
            let result = try edit(&editing)
            let finished = try editing.finish()
            try finished.write(to: place, of: self)
            return (finished, result)
        }
        if isRemembered { try withDiskSpace { try index.recordKeyringRevision() } }
        return result
    }
}

extension FinishedKeyring {
    /// Makes the new keyring durable, and adds the row of its current generation before this process uses the keys:
    /// what they wrap refers to that row.
    fileprivate func write(to place: KeyringPlace, of store: VaultStore) throws {
        try place.write(bytes)
        try store.withDiskSpace { try GenerationRows(store.index).addGeneration(currentGeneration) }
    }
}
