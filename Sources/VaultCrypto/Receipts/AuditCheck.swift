package import VaultModel

/// Reads an audit log, a line at a time, and says what is wrong with it: a function of its lines and of what the
/// keyring knows.
package struct AuditCheck: Sendable {
    /// What the keyring knows of the log.
    package struct Anchor: Sendable {
        package let vaultID: VaultID
        package let publicKey: [UInt8]
        /// The number of the last receipt.
        package let sequence: Int64

        package init(vaultID: VaultID, publicKey: [UInt8], sequence: Int64) {
            self.vaultID = vaultID
            self.publicKey = publicKey
            self.sequence = sequence
        }
    }

    /// So many faults are told: a log of nothing else has millions.
    private static let mostFaults = 1000

    private var report = AuditReport()
    private let anchor: Anchor?
    private var vaultID: VaultID?
    private var expected: Int64 = 1
    private var previous = ReceiptLine.noLine
    private var number = 0
    /// The genuine lines for this vault, in their order.
    private var signed: [SignedLine] = []

    /// What of a line waits for the last one: only from there is told which key was to sign it.
    private struct SignedLine {
        let number: Int
        let key: [UInt8]
        let former: [UInt8]?
        /// What is wrong if the key is right.
        let fault: AuditFault.Kind?
    }

    /// Begins before the first line.
    ///
    /// - Parameter anchor: nil where there is no keyring any more; then a log that was cut at its end looks sound.
    package init(anchor: Anchor?) {
        self.anchor = anchor
        report.isAnchored = anchor != nil
        vaultID = anchor?.vaultID
    }

    /// Takes the next line in, without its line end.
    package mutating func add(_ bytes: [UInt8]) {
        number += 1
        defer { previous = ReceiptLine.hash(of: bytes) }
        guard let line = ReceiptLine(bytes) else {
            note(.unreadable)
            expected += 1
            return
        }
        report.vaultID = report.vaultID ?? line.vaultID.hex
        report.publicKey = report.publicKey ?? Hex.encode(line.publicKey)
        vaultID = vaultID ?? line.vaultID
        report.receipts.append(line.receipt)
        if !line.isGenuine {
            note(.signature)
        } else if line.vaultID != vaultID {
            note(.stranger)
        } else {
            let fault: AuditFault.Kind? =
                line.receipt.sequence != expected ? .sequence : line.previous != previous ? .chain : nil
            signed.append(SignedLine(number: number, key: line.publicKey, former: line.former, fault: fault))
        }
        expected = line.receipt.sequence + 1
    }

    /// What was found.
    package func finished() -> AuditReport {
        var report = report
        let faults = (report.faults + signedFaults()).sorted { $0.line < $1.line }
        report.faults = Array(faults.prefix(Self.mostFaults))
        if let anchor, expected <= anchor.sequence {
            report.faults.append(AuditFault(line: number + 1, kind: .cut))
        }
        return report
    }

    private mutating func note(_ kind: AuditFault.Kind) {
        if report.faults.count < Self.mostFaults { report.faults.append(AuditFault(line: number, kind: kind)) }
    }

    /// Checks a log that is there as a whole.
    ///
    /// Behind the last line end may stand a line that was being written when the power went: it was promised to nobody,
    /// and counts for nothing.
    package static func report(on log: [UInt8], anchor: Anchor?) -> AuditReport {
        var check = AuditCheck(anchor: anchor)
        for line in log.split(separator: 0x0A, omittingEmptySubsequences: false).dropLast() { check.add(Array(line)) }
        return check.finished()
    }

    // MARK: Keys

    /// What is wrong with genuine lines, now that the key of each place is known.
    ///
    /// A key that this place's key has handed over to may sign until the latter signs alone again: so a log looks after
    /// a backup from before a new root key was restored.
    private func signedFaults() -> [AuditFault] {
        var faults: [AuditFault] = []
        var successor: [UInt8]?
        for (line, key) in zip(signed, keys()) {
            if line.key == key {
                successor = nil
            } else if let former = line.former, former == key || former == successor {
                successor = line.key
            } else if line.key != successor {
                faults.append(AuditFault(line: line.number, kind: .stranger))
                continue
            }
            if let fault = line.fault { faults.append(AuditFault(line: line.number, kind: fault)) }
        }
        return faults
    }

    /// The key of each genuine line's place. It becomes another with a new root key, by a line that both sign.
    ///
    /// Told from the end: a holder of only a former key can write nothing behind the line that ended it, and nothing
    /// before that line, whose signature covers what it follows.
    private func keys() -> [[UInt8]] {
        guard var key = anchor?.publicKey ?? lastKey() else { return [] }
        var keys: [[UInt8]] = []
        for line in signed.reversed() {
            keys.append(key)
            // An act that did not come to pass leaves such a line, too: then the former key signs what follows.
            if line.key == key, let former = line.former { key = former }
        }
        return keys.reversed()
    }

    /// The key that signs at the end of a log without a keyring: the first line's, or one that followed it.
    private func lastKey() -> [UInt8]? {
        guard let first = signed.first else { return nil }
        var key = first.former ?? first.key
        var next: [UInt8]?
        for line in signed where line.key != key {
            if line.key == next { key = line.key }
            if line.former == key { next = line.key }
        }
        return key
    }
}

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
