package import VaultCrypto
package import VaultModel

/// The log `audit.log`, which has one signed receipt for each key operation on a vault.
///
/// The log is written before the keyring: a receipt is durable before the keyring counts it, and an operation that
/// changes the keyring does so in the same write that counts its receipt. A crash in between therefore leaves one
/// receipt too many, never one too few. Every call may block.
package final class AuditLog: Sendable {
    /// The location of the keyring that counts the receipts.
    package let place: KeyringPlace

    let store: VaultStore
    let file: AuditFile
    let writing = Locked(())
    private let listeners = Locked(NumberedSet<@Sendable (Receipt) -> Void>())

    /// The parts of a receipt that the caller supplies.
    struct Content {
        let act: Receipt.Act
        var outcome = Receipt.Outcome.done
        /// The generation that the receipt names; nil for the current one.
        var generation: Int?
        var subject: String?
        var resources: Int64?

        func receipt(after last: Int64, current: Int, time: Int64) -> Receipt {
            Receipt(
                sequence: last + 1, time: max(0, time), act: act, outcome: outcome, generation: generation ?? current,
                subject: subject, resources: resources)
        }
    }

    /// Creates the log of an opened vault.
    package init(of store: VaultStore, at place: KeyringPlace) {
        self.store = store
        self.place = place
        file = AuditFile(in: store.folder, fileSystem: store.fileSystem)
    }

    /// Writes a receipt for a completed operation. Only the vault's owner may call this.
    ///
    /// - Parameters:
    ///   - subject: the resource that the operation concerned, if it concerned one.
    ///   - resources: the number of resources that the operation concerned, if it concerned several.
    /// - Returns: the receipt.
    /// - Throws: ``VaultError`` if the log or the keyring cannot be written; the operation itself is not undone.
    @discardableResult
    package func note(
        _ act: Receipt.Act, outcome: Receipt.Outcome = .done, subject: ResourceID? = nil, resources: Int64? = nil
    ) throws -> Receipt {
        let name = subject.flatMap { self.subject(of: $0) }
        return try note(Content(act: act, outcome: outcome, subject: name, resources: resources))
    }

    /// Returns the name that identifies a resource in receipts; nil if the keyring cannot derive it.
    package func subject(of resource: ResourceID) -> String? {
        KeyringReceipts(store.keyring).subject(of: resource, locator: store.index.locator).map { Hex.encode($0) }
    }

    /// Writes a receipt for a resource that the index no longer has, identified by its name in receipts.
    package func note(_ act: Receipt.Act, outcome: Receipt.Outcome, ofSubject subject: String) throws {
        _ = try note(Content(act: act, outcome: outcome, subject: subject))
    }

    /// Registers a closure to be called for each later receipt, once the receipt is durable, on the thread of the
    /// operation.
    ///
    /// - Returns: the number to pass to ``stopListening(_:)``.
    package func listen(_ tell: @escaping @Sendable (Receipt) -> Void) -> Int { listeners.withLock { $0.add(tell) } }

    package func stopListening(_ listener: Int) { listeners.withLock { $0.remove(listener) } }

    private func tell(_ receipt: Receipt) {
        for listener in listeners.withLock({ $0.all }) { listener(receipt) }
    }

    private func note(_ content: Content) throws -> Receipt {
        let receipt = try writing.withLock { _ in try commit(content, isDone: true).run { _ in }.receipt }
        tell(receipt)
        return receipt
    }

    private func commit(_ content: Content, isDone: Bool) -> KeyringCommit {
        KeyringCommit(store: store, place: place, log: file, receipt: content, isDone: isDone)
    }

    /// Destroys the keyring file, and logs a final receipt.
    ///
    /// The receipt is signed while its key still exists, and no keyring counts it. Copies of the keyring file must
    /// already be gone.
    ///
    /// - Parameter resources: the number of resources that the vault had.
    /// - Throws: ``VaultError`` if the log or the keyring cannot be written.
    package func destroyKeyring(resources: Int64) throws {
        let receipt = try writing.withLock { _ in
            let failure = "the receipt cannot be written to audit.log, so the keyring was not destroyed"
            let end = try Self.translating(failure) { () throws(FileFailure) in try file.end() }
            let last = max(
                try Self.sequence(before: end, in: file, by: store.keyring), KeyringReceipts(store.keyring).sequence)
            let receipt = Content(act: .destroy, outcome: .destroyed, resources: resources).receipt(
                after: last, current: store.keyring.currentGeneration, time: store.index.now())
            let line = try Self.line(receipt, after: end, signedBy: store.keyring)
            try store.withDiskSpace {
                try Self.translating(failure) { () throws(FileFailure) in try file.append(line, at: end) }
            }
            let wasThere = place.isThere
            do {
                try place.destroy()
            } catch {
                // Drop the receipt, unless the file was destroyed despite the error.
                if place.isThere || !wasThere { try? file.cut(to: end) }
                throw error
            }
            return receipt
        }
        tell(receipt)
    }

    /// Changes the keyring, and logs a receipt for the change.
    ///
    /// - Parameter generation: the generation that the receipt names; nil for the generation that is current after the
    ///   change.
    /// - Throws: ``VaultError`` if the log, the keyring or the index cannot be written. The index is checked first; see
    ///   ``KeyringCommit/run(_:)``.
    package func change<Result: Sendable>(
        _ act: Receipt.Act, outcome: Receipt.Outcome = .done, generation: Int? = nil,
        _ edit: (inout KeyringEdit) throws -> Result
    ) throws -> Result {
        let content = Content(act: act, outcome: outcome, generation: generation)
        let (result, receipt) = try writing.withLock { _ in try commit(content, isDone: false).run(edit) }
        tell(receipt)
        return result
    }

    static func line(
        _ receipt: Receipt, after end: AuditFile.End, signedBy keyring: Keyring, with edit: KeyringEdit? = nil
    ) throws -> [UInt8] {
        try KeyringReceipts(keyring).sign(
            receipt, previous: end.last.map { ReceiptLine.hash(of: $0) } ?? ReceiptLine.firstPrevious, with: edit)
    }

    /// Returns the number of the last receipt that was signed by the keyring's own key or a successor of that key.
    ///
    /// A successor exists if the keyring is a backup from before the root key was replaced. Returns 0 if there is no
    /// such receipt. Receipts signed by other keys are ignored, because they must not influence the keyring's count.
    static func sequence(before end: AuditFile.End, in file: AuditFile, by keyring: Keyring) throws -> Int64 {
        guard let last = end.last else { return 0 }
        let anchor = try KeyringReceipts(keyring).anchor()
        if let line = ReceiptLine(last), line.isSigned(as: anchor) { return line.receipt.sequence }
        // The newest receipt number for each key that signed receipts, and for each former key that one of these keys
        // replaced.
        var newest: [[UInt8]: Int64] = [:]
        try translating("audit.log cannot be read") { () throws(FileFailure) in
            try file.forEachLineFromEnd { bytes, _ in
                guard let line = ReceiptLine(bytes), line.isGenuine, line.vaultID == anchor.vaultID else { return true }
                let number = newest[line.publicKey] ?? line.receipt.sequence
                newest[line.publicKey] = number
                if let former = line.former, newest[former] == nil { newest[former] = number }
                return newest[anchor.publicKey] == nil
            }
        }
        return newest[anchor.publicKey] ?? 0
    }

    static func translating<Result>(
        _ what: String, _ body: () throws(FileFailure) -> Result
    ) throws(VaultError) -> Result {
        do throws(FileFailure) {
            return try body()
        } catch {
            throw error.vaultError(what)
        }
    }

    // MARK: Without a store

    /// Replaces the keyring with a backup, and logs a receipt. Only the holder of the vault's lock may call this.
    ///
    /// - Parameters:
    ///   - file: the bytes of the keyring file to restore, which do not count the receipt yet.
    ///   - keyring: the keyring that was unlocked from that file.
    /// - Throws: ``VaultError`` if the log or the keyring cannot be written.
    package static func restore(
        _ file: [UInt8], of keyring: Keyring, at place: KeyringPlace, in folder: String,
        fileSystem: any FileSystem = PosixFileSystem(), time: Int64 = WallClock.now()
    ) throws {
        let log = AuditFile(in: folder, fileSystem: fileSystem)
        let failure = "the receipt cannot be written to audit.log, so nothing was restored"
        let end = try translating(failure) { () throws(FileFailure) in try log.end() }
        let document = try keyring.document(of: file)
        let last = max(try sequence(before: end, in: log, by: keyring), document.receiptSequence)
        let receipt = Content(act: .restore).receipt(after: last, current: Int(document.current), time: time)
        let line = try line(receipt, after: end, signedBy: keyring)
        let bytes = try KeyringReceipts(keyring).counting(receipt, in: file)
        try translating(failure) { () throws(FileFailure) in try log.append(line, at: end) }
        do {
            try place.write(bytes)
        } catch {
            if !place.holds(bytes) { try? log.cut(to: end) }
            throw error
        }
    }

    /// Reads and checks a log. A missing file counts as an empty log.
    ///
    /// - Parameter keyring: the keyring that the log must agree with; nil if it no longer exists.
    package static func report(
        on folder: String, keyring: Keyring?, fileSystem: any FileSystem = PosixFileSystem()
    ) throws -> AuditReport {
        var check = AuditChecker(anchor: try keyring.map { try KeyringReceipts($0).anchor() })
        try translating("audit.log cannot be read") { () throws(FileFailure) in
            try AuditFile(in: folder, fileSystem: fileSystem).forEachLine { check.add($0) }
        }
        return check.finished()
    }
}

// Receipts that are due. The index records them until they are written, because the owner may be killed first.
extension AuditLog {
    /// Returns the number of the last receipt. A receipt that becomes due after this call has a higher number.
    ///
    /// - Throws: ``VaultError`` if the log cannot be read.
    package func lastSequence() throws -> Int64 {
        let end = try Self.translating("audit.log cannot be read") { () throws(FileFailure) in try file.end() }
        return max(try Self.sequence(before: end, in: file, by: store.keyring), KeyringReceipts(store.keyring).sequence)
    }

    /// Returns the receipts that the vault's own key has signed since the receipt with the given number.
    ///
    /// If the process that wrote them was killed before the keyring counted them, the keyring counts them now.
    ///
    /// - Parameter sequence: the number of the last receipt to leave out; nil if none was recorded, in which case the
    ///   result is empty.
    /// - Throws: ``VaultError`` if the log cannot be read, or the keyring cannot be written.
    package func receipts(after sequence: Int64?) throws -> [Receipt] {
        guard let sequence else { return [] }
        let anchor = try KeyringReceipts(store.keyring).anchor()
        var receipts: [Receipt] = []
        var key = anchor.publicKey
        try Self.translating("audit.log cannot be read") { () throws(FileFailure) in
            try file.forEachLineFromEnd { bytes, _ in
                // A line signed by another key is skipped, so that it cannot end the search.
                guard let line = ReceiptLine(bytes), line.isSigned(with: key, for: anchor.vaultID) else { return true }
                // Receipts from before the root key was replaced are signed with the former key.
                if line.publicKey == key, let former = line.former { key = former }
                guard line.receipt.sequence > sequence else { return false }
                receipts.append(line.receipt)
                return true
            }
        }
        if let last = receipts.map(\.sequence).max(), last > anchor.sequence {
            try writing.withLock { _ in
                try place.changeKeyring(of: store, isRemembered: false) { edit in
                    edit.document.receiptSequence = max(edit.document.receiptSequence, last)
                }
            }
        }
        return receipts
    }
}
