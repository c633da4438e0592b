import Synchronization
package import VaultCrypto
package import VaultModel

/// `audit.log`: a signed receipt for each act on the keys of a vault, one after the other.
///
/// The log leads, the keyring follows: a receipt is durable before the keyring counts it, so a crash between leaves one
/// receipt more than the keyring knows, never one less. Every call may block.
package final class AuditLog: Sendable {
    private let folder: String
    private let keyring: Keyring
    private let keyringFile: String
    private let fileSystem: any FileSystem
    private let now: @Sendable () -> Int64
    private let locator: @Sendable () -> Int
    private let writing = Mutex(())

    /// More than the longest line.
    private static let tailBytes: Int64 = 8192
    /// The longest log that is read.
    private static let mostBytes = 256 << 20

    /// The log of an opened vault.
    ///
    /// - Parameter keyringFile: where the keyring lies that counts the receipts.
    package convenience init(of store: VaultStore, keyringFile: String) {
        self.init(
            folder: store.folder, keyring: store.keyring, keyringFile: keyringFile, fileSystem: store.fileSystem,
            now: store.now, locator: { store.index.locator })
    }

    init(
        folder: String, keyring: Keyring, keyringFile: String, fileSystem: any FileSystem,
        now: @escaping @Sendable () -> Int64, locator: @escaping @Sendable () -> Int
    ) {
        self.folder = folder
        self.keyring = keyring
        self.keyringFile = keyringFile
        self.fileSystem = fileSystem
        self.now = now
        self.locator = locator
    }

    /// Writes a receipt for what was done. Only the vault's owner does.
    ///
    /// - Parameters:
    ///   - generation: the one that the act was about; nil for the current one.
    ///   - subject: the resource that it was about, where it was one.
    ///   - resources: how many it was about, where they were several.
    /// - Throws: ``VaultError`` where log or keyring cannot be written; what was done stays done.
    @discardableResult
    package func note(
        _ act: Receipt.Act, outcome: Receipt.Outcome = .done, generation: Int? = nil, subject: ResourceID? = nil,
        resources: Int64? = nil
    ) throws -> Receipt {
        let name = subject.flatMap { keyring.auditSubject(of: $0, locator: locator()) }
        return try write(
            act, outcome, generation: generation, subject: name.map { Hex.encode($0) }, resources: resources)
    }

    /// The same for a resource that the index does not have any more, by what receipts call it.
    package func note(_ act: Receipt.Act, outcome: Receipt.Outcome, ofSubject subject: String) throws {
        try write(act, outcome, generation: nil, subject: subject, resources: nil)
    }

    @discardableResult
    private func write(
        _ act: Receipt.Act, _ outcome: Receipt.Outcome, generation: Int?, subject: String?, resources: Int64?
    ) throws -> Receipt {
        try writing.withLock { _ in
            do {
                let (file, isNew) = try open()
                let (end, last) = try tail(of: file)
                let lastSequence = last.flatMap { ReceiptLine($0) }?.receipt.sequence ?? 0
                let receipt = Receipt(
                    sequence: max(lastSequence, keyring.receiptSequence) + 1, time: max(0, now()), act: act,
                    outcome: outcome, generation: generation ?? keyring.currentGeneration, subject: subject,
                    resources: resources)
                let line = try keyring.sign(
                    receipt, previous: last.map { ReceiptLine.hash(of: $0) } ?? ReceiptLine.noLine)
                try file.truncate(to: end)
                try file.write(line, at: end)
                try file.synchronize()
                // Only behind a line that is durable: of a longer write, the end may reach the disk before the middle.
                try file.write([0x0A], at: end + Int64(line.count))
                try file.synchronize()
                if isNew { try fileSystem.synchronizeDirectory(folder) }
                try count(receipt.sequence)
                return receipt
            } catch let failure as FileFailure {
                throw failure.vaultError("keys: it is done, but its receipt cannot be written to audit.log")
            }
        }
    }

    /// Reads and checks a log; an empty one where there is none.
    ///
    /// - Parameter keyring: what the log must agree with; nil where there is none any more.
    package static func report(
        on folder: String, keyring: Keyring?, fileSystem: any FileSystem = PosixFileSystem()
    ) throws -> AuditReport {
        var log: [UInt8] = []
        do throws(FileFailure) {
            log = try fileSystem.contents(of: folder + "/audit.log", atMost: mostBytes)
        } catch {
            guard error.kind == .notFound else { throw error.vaultError("audit.log cannot be read") }
        }
        return AuditCheck.report(on: log, anchor: try keyring?.auditAnchor())
    }

    private func open() throws(FileFailure) -> (file: any StoredFile, isNew: Bool) {
        let path = folder + "/audit.log"
        return fileSystem.exists(path)
            ? (try fileSystem.open(path, writable: true), false) : (try fileSystem.create(path), true)
    }

    /// Where the last whole line ends, and that line; what stands behind it was promised to nobody.
    private func tail(of file: any StoredFile) throws(FileFailure) -> (end: Int64, line: [UInt8]?) {
        let size = try file.size()
        // All of it where the last bytes have no line end: then it is short, or damaged.
        for first in [max(0, size - Self.tailBytes), 0] {
            let bytes = try file.read(count: Int(size - first), at: first)
            guard let end = bytes.lastIndex(of: 0x0A) else { continue }
            let start = bytes[..<end].lastIndex(of: 0x0A).map { $0 + 1 } ?? 0
            return (first + Int64(end) + 1, Array(bytes[start..<end]))
        }
        return (0, nil)
    }

    private func count(_ sequence: Int64) throws {
        try keyring.noteReceipt(
            sequence, reading: { try KeyringFile.read(keyringFile, fileSystem: fileSystem) },
            writing: { try KeyringFile.write($0, to: keyringFile, fileSystem: fileSystem) })
    }
}
