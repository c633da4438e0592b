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
        let parsed = lines(of: log).map { (bytes: $0, line: ReceiptLine($0)) }
        let keys = keys(of: parsed.map(\.line), last: anchor?.publicKey)
        var vaultID = anchor?.vaultID
        var expected: Int64 = 1
        var previous = ReceiptLine.noLine
        var number = 0
        for (bytes, line) in parsed {
            number += 1
            defer { previous = ReceiptLine.hash(of: bytes) }
            guard let line else {
                report.faults.append(AuditFault(line: number, kind: .unreadable))
                expected += 1
                continue
            }
            report.vaultID = report.vaultID ?? line.vaultID.hex
            report.publicKey = report.publicKey ?? Hex.encode(line.publicKey)
            vaultID = vaultID ?? line.vaultID
            report.receipts.append(line.receipt)
            let key = keys[number - 1]
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
        guard let key, line.isSigned(with: key), line.vaultID == vaultID else { return .stranger }
        if line.receipt.sequence != expected { return .sequence }
        return line.previous == previous ? nil : .chain
    }

    /// The key that is to have signed each line. It becomes another where a new root key is made, by a line that both sign.
    ///
    /// Told from the end: who has only a former key can write nothing behind the line that ended it, and nothing before that
    /// line, whose signature covers what it follows.
    ///
    /// - Parameter last: the key of the keyring; nil where there is none.
    private static func keys(of lines: [ReceiptLine?], last: [UInt8]?) -> [[UInt8]?] {
        var keys: [[UInt8]?] = Array(repeating: nil, count: lines.count)
        var key = last ?? lastKey(of: lines)
        for index in lines.indices.reversed() {
            keys[index] = key
            // An act that did not come to pass leaves such a line, too: then the former key signs what follows.
            if let line = lines[index], line.isGenuine, line.publicKey == key, let former = line.former { key = former }
        }
        return keys
    }

    /// The key that signs at the end of a log without a keyring: the first line's, or one that followed it.
    private static func lastKey(of lines: [ReceiptLine?]) -> [UInt8]? {
        var (key, next): ([UInt8]?, [UInt8]?) = (nil, nil)
        for case let line? in lines {
            key = key ?? line.former ?? line.publicKey
            guard line.isGenuine, line.publicKey != key else { continue }
            if line.publicKey == next { key = next }
            if line.former == key { next = line.publicKey }
        }
        return key
    }

    /// The lines that have their end.
    package static func lines(of log: [UInt8]) -> [[UInt8]] {
        var lines = log.split(separator: 0x0A, omittingEmptySubsequences: false).map { Array($0) }
        lines.removeLast()
        return lines
    }
}
