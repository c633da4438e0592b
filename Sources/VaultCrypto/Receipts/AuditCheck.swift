package import VaultModel

/// Reads an audit log, a line at a time, and says what is wrong with it: a function of its lines and of what the keyring
/// knows.
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
    private var key: [UInt8]?
    private var vaultID: VaultID?
    private var expected: Int64 = 1
    private var previous = ReceiptLine.noLine
    private var number = 0

    /// Begins before the first line.
    ///
    /// - Parameter anchor: nil where there is no keyring any more; then a log that was cut at its end looks sound.
    package init(anchor: Anchor?) {
        self.anchor = anchor
        report.isAnchored = anchor != nil
        key = anchor?.publicKey
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
        (key, vaultID) = (key ?? line.publicKey, vaultID ?? line.vaultID)
        report.receipts.append(line.receipt)
        if let kind = fault(of: line) { note(kind) }
        expected = line.receipt.sequence + 1
    }

    /// What was found.
    package func finished() -> AuditReport {
        var report = report
        if let anchor, expected <= anchor.sequence {
            report.faults.append(AuditFault(line: number + 1, kind: .cut))
        }
        return report
    }

    private mutating func note(_ kind: AuditFault.Kind) {
        if report.faults.count < Self.mostFaults { report.faults.append(AuditFault(line: number, kind: kind)) }
    }

    private func fault(of line: ReceiptLine) -> AuditFault.Kind? {
        if !line.isGenuine { return .signature }
        if line.publicKey != key || line.vaultID != vaultID { return .stranger }
        if line.receipt.sequence != expected { return .sequence }
        return line.previous == previous ? nil : .chain
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
}
