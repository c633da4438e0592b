package import VaultModel

/// Checks an audit log, one line at a time.
///
/// The result depends only on the lines and on the facts that the keyring states about the log.
package struct AuditChecker: Sendable {
    /// The facts that the keyring states about the log.
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

    /// The maximum number of faults in a report, limited because a log may have millions.
    private static let maxFaults = 1000

    private var report = AuditReport()
    private let anchor: Anchor?
    private var vaultID: VaultID?
    private var expected: Int64 = 1
    private var previous = ReceiptLine.firstPrevious
    private var number = 0
    /// The lines for this vault whose signatures are valid, in order.
    private var signed: [SignedLine] = []

    /// A line whose check must wait for the end of the log, because only then is it known which key should have signed
    /// it.
    private struct SignedLine {
        let number: Int
        let key: [UInt8]
        let former: [UInt8]?
        /// The fault to report if the right key signed the line; nil if there is none.
        let fault: AuditFault.Kind?
    }

    /// Creates a checker that expects the log's first line.
    ///
    /// - Parameter anchor: the facts from the keyring; nil if the keyring no longer exists. Lines missing from the
    ///   log's end are then not detected.
    package init(anchor: Anchor?) {
        self.anchor = anchor
        report.isAnchored = anchor != nil
        vaultID = anchor?.vaultID
    }

    /// Checks the next line, given without its line ending.
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

    /// Returns the report on all lines added so far.
    package func finished() -> AuditReport {
        var report = report
        let faults = (report.faults + signedFaults()).sorted { $0.line < $1.line }
        report.faults = Array(faults.prefix(Self.maxFaults))
        if let anchor, expected <= anchor.sequence {
            report.faults.append(AuditFault(line: number + 1, kind: .cut))
        }
        return report
    }

    private mutating func note(_ kind: AuditFault.Kind) {
        if report.faults.count < Self.maxFaults { report.faults.append(AuditFault(line: number, kind: kind)) }
    }

    /// Checks a complete log.
    ///
    /// A line may follow the last line ending if power failed while it was being written. It was never acknowledged, so
    /// it is ignored.
    package static func report(on log: [UInt8], anchor: Anchor?) -> AuditReport {
        var check = AuditChecker(anchor: anchor)
        for line in log.split(separator: 0x0A, omittingEmptySubsequences: false).dropLast() { check.add(Array(line)) }
        return check.finished()
    }

    // MARK: Keys

    /// Returns the faults in genuine lines, now that the key for each position is known.
    ///
    /// After a handover, the successor may sign until the key for the position signs again. A log looks like that if a
    /// backup made before a root key change was restored.
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

    /// Returns the signing key for the position of each genuine line.
    ///
    /// A new root key changes the signing key, in a line that both keys sign. The keys are traced from the end, because
    /// someone who holds only a former key can add nothing after the line that ended that key's use, and nothing before
    /// it either: that line's signature covers everything that precedes it.
    private func keys() -> [[UInt8]] {
        guard var key = anchor?.publicKey ?? lastKey() else { return [] }
        var keys: [[UInt8]] = []
        for line in signed.reversed() {
            keys.append(key)
            // A failed key operation also leaves such a line. The former key then signs the lines that follow it.
            if line.key == key, let former = line.former { key = former }
        }
        return keys.reversed()
    }

    /// Returns the key that signs at the end of a log without a keyring: the first line's key, or one that succeeded
    /// it.
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
