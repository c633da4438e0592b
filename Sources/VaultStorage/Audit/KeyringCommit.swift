package import VaultCrypto
import VaultModel

/// One change of a vault's keyring, from the file as it is to the index that knows the new one.
///
/// The log leads, the keyring file follows, the index comes last. A crash in between therefore leaves one receipt too
/// many, never one too few, and an index that is older than its keyring, never newer.
struct KeyringCommit {
    let store: VaultStore
    /// The place of the keyring file.
    let place: KeyringPlace
    /// What the log says about the change.
    var entry = Entry.none

    enum Entry {
        /// Nothing.
        case none
        /// A receipt for the change itself.
        case change(AuditLog.Content, AuditFile)
        /// A receipt for an operation that is already done. The keyring only counts it, and the index does not require
        /// a keyring that does: a backup made just before must remain usable.
        case done(AuditLog.Content, AuditFile)
        /// Nothing new: the keyring counts receipts that the log already has.
        case counted
    }

    /// Makes the change.
    ///
    /// - Returns: what `edit` returns, and the new receipt; nil if the change has none.
    /// - Throws: ``VaultError`` if the log, the keyring or the index cannot be read or written. Nothing has changed
    ///   then, unless only the index could not be written: the file is already the new one, but this process continues
    ///   with the keys that it had.
    func run<Result>(
        _ edit: (inout KeyringEdit) throws -> Result
    ) throws -> (result: Result, receipt: Receipt?) {
        // Prepare: whatever may fail for want of space or of a sound file fails while nothing has changed.
        let log = try entry.log(of: store.keyring)
        if entry.isChange { try store.withDiskSpace { try GenerationRows(store.index).prepareForKeyring() } }
        do {
            let last = try log.map { try AuditLog.sequence(before: $0.end, in: $0.file, by: store.keyring) } ?? 0
            let made = try store.keyring.change(reading: place.read) { change in
                // Edit.
                let result = try edit(&change.edit)
                // Receipt: durable before the keyring counts it.
                var receipt: Receipt?
                var line: [UInt8] = []
                if let log {
                    let new = log.content.receipt(
                        after: max(last, change.edit.document.receiptSequence),
                        current: Int(change.edit.document.current), time: store.now())
                    line = try AuditLog.line(new, after: log.end, signedBy: store.keyring, with: change.edit)
                    change.edit.document.receiptSequence = new.sequence
                    receipt = new
                }
                let bytes = try change.finish()
                if let log {
                    try store.withDiskSpace {
                        try AuditLog.translating(log.failure) { () throws(FileFailure) in
                            try log.file.append(line, at: log.end)
                        }
                    }
                }
                // Write.
                try place.write(bytes)
                // Note: before this process uses the keys, because what they wrap refers to the generation's row.
                let current = Int(change.edit.document.current)
                try store.withDiskSpace { try GenerationRows(store.index).addGeneration(current) }
                return (result, receipt)
            }
            if entry.isRemembered { try store.withDiskSpace { try store.index.recordKeyringRevision() } }
            return made
        } catch {
            // A line for a change that was not made would be false. If in doubt, the line stays.
            if entry.isChange, let log, isUncounted(log) { try? log.file.cut(to: log.end) }
            throw error
        }
    }

    /// Whether the keyring file certainly counts no receipt after an end of the log.
    private func isUncounted(_ log: Entry.Log) -> Bool {
        guard let now = try? log.file.end(), now.offset > log.end.offset,
            let document = try? store.keyring.document(of: place.read()),
            let last = try? AuditLog.sequence(before: now, in: log.file, by: store.keyring)
        else { return false }
        return document.receiptSequence < last
    }
}

extension KeyringCommit.Entry {
    /// The log as it was before the change, and what to write to it.
    fileprivate struct Log {
        let content: AuditLog.Content
        let file: AuditFile
        let end: AuditFile.End
        /// What it means for the operation if the receipt cannot be written.
        let failure: String
    }

    fileprivate var isChange: Bool { if case .change = self { true } else { false } }

    /// Whether the index then requires a keyring at least as new as the changed one.
    fileprivate var isRemembered: Bool {
        switch self {
        case .none, .change: true
        case .done, .counted: false
        }
    }

    fileprivate func log(of keyring: Keyring) throws -> Log? {
        switch self {
        case .none, .counted: return nil
        case .change(let content, let file):
            let end = try AuditLog.translating("audit.log cannot be read") { () throws(FileFailure) in try file.end() }
            let failure = "the receipt cannot be written to audit.log, so nothing was done"
            return Log(content: content, file: file, end: end, failure: failure)
        case .done(let content, let file):
            let failure = "done, but the receipt cannot be written to audit.log"
            let end = try AuditLog.translating(failure) { () throws(FileFailure) in try file.end() }
            return Log(content: content, file: file, end: end, failure: failure)
        }
    }
}

extension VaultStore {
    /// Changes the keyring without a receipt, and records its revision in the index.
    ///
    /// - Throws: as ``Keyring/change(reading:_:)``; ``VaultError`` if the index cannot be written, in which case the
    ///   file is already the new one.
    package func changeKeyring<Result>(
        at place: KeyringPlace, _ edit: (inout KeyringEdit) throws -> Result
    ) throws -> Result {
        try KeyringCommit(store: self, place: place).run(edit).result
    }
}
