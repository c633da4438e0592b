package import VaultModel

/// Reads an audit log and says what is wrong with it: a function of its bytes and of what the keyring knows.
package enum AuditCheck {
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

    /// Checks a log.
    ///
    /// Behind the last line end may stand a line that was being written when the power went: it was promised to nobody,
    /// and counts for nothing.
    ///
    /// - Parameter anchor: nil where there is no keyring any more; then a log that was cut at its end looks sound.
    package static func report(on log: [UInt8], anchor: Anchor?) -> AuditReport {
        var report = AuditReport()
        report.isAnchored = anchor != nil
        var key = anchor?.publicKey
        var vaultID = anchor?.vaultID
        var expected: Int64 = 1
        var previous = ReceiptLine.noLine
        var number = 0
        for bytes in lines(of: log) {
            number += 1
            defer { previous = ReceiptLine.hash(of: bytes) }
            guard let line = ReceiptLine(bytes) else {
                report.faults.append(AuditFault(line: number, kind: .unreadable))
                expected += 1
                continue
            }
            report.vaultID = report.vaultID ?? line.vaultID.hex
            report.publicKey = report.publicKey ?? Hex.encode(line.publicKey)
            (key, vaultID) = (key ?? line.publicKey, vaultID ?? line.vaultID)
            report.receipts.append(line.receipt)
            if let kind = fault(of: line, expected: expected, previous: previous, key: key, vaultID: vaultID) {
                report.faults.append(AuditFault(line: number, kind: kind))
            }
            expected = line.receipt.sequence + 1
        }
        if let anchor, expected <= anchor.sequence {
            report.faults.append(AuditFault(line: number + 1, kind: .cut))
        }
        return report
    }

    private static func fault(
        of line: ReceiptLine, expected: Int64, previous: [UInt8], key: [UInt8]?, vaultID: VaultID?
    ) -> AuditFault.Kind? {
        if !line.isGenuine { return .signature }
        if line.publicKey != key || line.vaultID != vaultID { return .stranger }
        if line.receipt.sequence != expected { return .sequence }
        return line.previous == previous ? nil : .chain
    }

    /// The lines that have their end.
    package static func lines(of log: [UInt8]) -> [[UInt8]] {
        var lines = log.split(separator: 0x0A, omittingEmptySubsequences: false).map { Array($0) }
        lines.removeLast()
        return lines
    }
}
