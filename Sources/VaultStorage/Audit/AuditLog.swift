package import VaultCrypto
package import VaultModel

/// `audit.log`: a signed receipt for each act on the keys of a vault, one after the other.
///
/// The log leads, the keyring follows: a receipt is durable before the keyring counts it, and an act that changes the
/// keyring is done by the same write that counts its receipt. So a crash between leaves one receipt more than there were
/// acts, never one less. Every call may block.
package final class AuditLog: Sendable {
    /// Where the keyring lies that counts the receipts.
    package let place: KeyringPlace

    let store: VaultStore
    let file: AuditFile
    let writing = Locked(())

    /// What a receipt says that the log does not know by itself.
    private struct Content {
        let act: Receipt.Act
        var outcome = Receipt.Outcome.done
        /// Nil for the current one.
        var generation: Int?
        var subject: String?
        var resources: Int64?
    }

    /// The log of an opened vault.
    package init(of store: VaultStore, at place: KeyringPlace) {
        self.store = store
        self.place = place
        file = AuditFile(in: store.folder, fileSystem: store.fileSystem)
    }

    /// Writes a receipt for what was done. Only the vault's owner does.
    ///
    /// - Parameters:
    ///   - subject: the resource that it was about, where it was one.
    ///   - resources: how many it was about, where they were several.
    /// - Throws: ``VaultError`` where log or keyring cannot be written; what was done stays done.
    @discardableResult
    package func note(
        _ act: Receipt.Act, outcome: Receipt.Outcome = .done, subject: ResourceID? = nil, resources: Int64? = nil
    ) throws -> Receipt {
        let name = subject.flatMap { self.subject(of: $0) }
        return try note(Content(act: act, outcome: outcome, subject: name, resources: resources))
    }

    /// What receipts call a resource; nil where the keyring cannot name it.
    package func subject(of resource: ResourceID) -> String? {
        store.keyring.auditSubject(of: resource, locator: store.index.locator).map { Hex.encode($0) }
    }

    /// The same for a resource that the index does not have any more, by what receipts call it.
    package func note(_ act: Receipt.Act, outcome: Receipt.Outcome, ofSubject subject: String) throws {
        _ = try note(Content(act: act, outcome: outcome, subject: subject))
    }

    private func note(_ content: Content) throws -> Receipt {
        try writing.withLock { _ in
            // The index does not demand a keyring that counts it: a backup made just before is as good.
            try write(content, or: "it is done, but its receipt cannot be written to audit.log", isRemembered: false) {
                _ in
            }.receipt
        }
    }

    /// Destroys the keyring's file, with a receipt that is signed while there is a key, and that no keyring counts any
    /// more. Its copies are gone already.
    ///
    /// - Parameter resources: how many the vault had.
    /// - Throws: ``VaultError`` where log or keyring cannot be written.
    package func destroyKeyring(resources: Int64) throws {
        try writing.withLock { _ in
            let failure = "the receipt cannot be written to audit.log, and so the keyring is still there"
            let end = try Self.translating(failure) { () throws(FileFailure) in try file.end() }
            let last = max(
                try Self.sequence(before: end, in: file, by: store.keyring), store.keyring.receiptSequence)
            let receipt = Self.receipt(
                Content(act: .destroy, outcome: .destroyed, resources: resources), after: last,
                current: store.keyring.currentGeneration, time: store.now())
            let line = try Self.line(receipt, after: end, signedBy: store.keyring)
            try store.withDiskRoom {
                try Self.translating(failure) { () throws(FileFailure) in try file.append(line, at: end) }
            }
            let wasThere = place.isThere
            do {
                try place.destroy()
            } catch {
                // Unless it is gone all the same.
                if place.isThere || !wasThere { try? file.cut(to: end) }
                throw error
            }
        }
    }

    /// Changes the keyring, with a receipt for it.
    ///
    /// - Parameter generation: the one that the act is about; nil for the one that is current then.
    /// - Throws: as ``VaultStore/changeKeyring(at:isRemembered:leading:_:)``; ``VaultError`` where the log cannot be
    ///   written, or the index takes no write, for which it is asked first: then nothing has changed.
    package func change<Result: Sendable>(
        _ act: Receipt.Act, outcome: Receipt.Outcome = .done, generation: Int? = nil,
        _ edit: (inout KeyringEdit) throws -> Result
    ) throws -> Result {
        try writing.withLock { _ in
            let end = try Self.translating("audit.log cannot be read") { () throws(FileFailure) in try file.end() }
            try store.withDiskRoom { try store.index.prepareForKeyring() }
            do {
                return try write(
                    Content(act: act, outcome: outcome, generation: generation), at: end,
                    or: "the receipt cannot be written to audit.log, and so nothing was done", isRemembered: true, edit
                ).result
            } catch {
                // A line for what was not done would be a lie. Where nobody can say it stays.
                if isUncounted(end) { try? file.cut(to: end) }
                throw error
            }
        }
    }

    private func write<Result: Sendable>(
        _ content: Content, at known: AuditFile.End? = nil, or failure: String, isRemembered: Bool,
        _ edit: (inout KeyringEdit) throws -> Result
    ) throws -> (receipt: Receipt, result: Result) {
        let end = try known ?? Self.translating(failure) { () throws(FileFailure) in try file.end() }
        let last = try Self.sequence(before: end, in: file, by: store.keyring)
        var line: [UInt8] = []
        return try store.changeKeyring(
            at: place, isRemembered: isRemembered,
            leading: {
                try store.withDiskRoom {
                    try Self.translating(failure) { () throws(FileFailure) in try file.append(line, at: end) }
                }
            },
            { editing in
                let result = try edit(&editing)
                let receipt = Self.receipt(
                    content, after: max(last, editing.document.receiptSequence),
                    current: Int(editing.document.current), time: store.now())
                line = try Self.line(receipt, after: end, signedBy: store.keyring, with: editing)
                editing.document.receiptSequence = receipt.sequence
                return (receipt, result)
            })
    }

    private static func receipt(
        _ content: Content, after last: Int64, current: Int, time: Int64
    ) -> Receipt {
        Receipt(
            sequence: last + 1, time: max(0, time), act: content.act,
            outcome: content.outcome, generation: content.generation ?? current, subject: content.subject,
            resources: content.resources)
    }

    private static func line(
        _ receipt: Receipt, after end: AuditFile.End, signedBy keyring: Keyring, with edit: KeyringEdit? = nil
    ) throws -> [UInt8] {
        try keyring.sign(
            receipt, previous: end.last.map { ReceiptLine.hash(of: $0) } ?? ReceiptLine.noLine, with: edit)
    }

    /// Whether the keyring's file surely counts nothing that stands behind an end of the log.
    private func isUncounted(_ end: AuditFile.End) -> Bool {
        guard let now = try? file.end(), now.offset > end.offset,
            let document = try? store.keyring.document(of: place.read()),
            let last = try? Self.sequence(before: now, in: file, by: store.keyring)
        else { return false }
        return document.receiptSequence < last
    }

    /// The number of the last receipt that a keyring's own key has signed, or one that it has handed over to, as behind
    /// a new root key that an older backup does not know; 0 where there is none. What others wrote counts for nothing: it
    /// must not say how the keyring counts.
    static func sequence(before end: AuditFile.End, in file: AuditFile, by keyring: Keyring) throws -> Int64 {
        guard let last = end.last else { return 0 }
        let anchor = try keyring.auditAnchor()
        if let line = ReceiptLine(last), line.isSigned(as: anchor) { return line.receipt.sequence }
        // By the key that signed it, or handed over to the one that did.
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

    /// Puts a backup in the keyring's place, with a receipt for it. Only who holds the vault's lock does.
    ///
    /// - Parameters:
    ///   - file: what is to be the keyring's file, but for the count of the receipt.
    ///   - keyring: what opens it.
    /// - Throws: ``VaultError`` where log or keyring cannot be written.
    package static func restore(
        _ file: [UInt8], of keyring: Keyring, at place: KeyringPlace, in folder: String,
        fileSystem: any FileSystem = PosixFileSystem(), time: Int64 = WallClock.now()
    ) throws {
        let log = AuditFile(in: folder, fileSystem: fileSystem)
        let failure = "the receipt cannot be written to audit.log, and so nothing was restored"
        let end = try translating(failure) { () throws(FileFailure) in try log.end() }
        let document = try keyring.document(of: file)
        let last = max(try sequence(before: end, in: log, by: keyring), document.receiptSequence)
        let receipt = receipt(Content(act: .restore), after: last, current: Int(document.current), time: time)
        let line = try line(receipt, after: end, signedBy: keyring)
        let bytes = try keyring.counting(receipt, in: file)
        try translating(failure) { () throws(FileFailure) in try log.append(line, at: end) }
        do {
            try place.write(bytes)
        } catch {
            if !place.holds(bytes) { try? log.cut(to: end) }
            throw error
        }
    }

    /// Reads and checks a log; an empty one where there is none.
    ///
    /// - Parameter keyring: what the log must agree with; nil where there is none any more.
    package static func report(
        on folder: String, keyring: Keyring?, fileSystem: any FileSystem = PosixFileSystem()
    ) throws -> AuditReport {
        var check = AuditCheck(anchor: try keyring?.auditAnchor())
        try translating("audit.log cannot be read") { () throws(FileFailure) in
            try AuditFile(in: folder, fileSystem: fileSystem).forEachLine { check.add($0) }
        }
        return check.finished()
    }
}

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
