import Foundation
import MediaVault
import VaultService

/// What `keys audit` prints for people.
enum AuditSheet {
    static func text(_ document: AuditDocument) -> String {
        var text = document.receipts.map(line).joined()
        text += document.faults.map(line).joined()
        let verdict = document.sound ? "sound" : "not sound"
        text += "\(document.receipts.count) receipts, \(verdict)"
        if let key = document.key.value { text += ", key \(key)" }
        return Terminal.printable(text.replacing("\n", with: "\u{2028}")).replacing("\u{2028}", with: "\n") + "\n"
    }

    private static func line(_ receipt: Receipt) -> String {
        var facts = ["\(receipt.sequence)", time(receipt.time), receipt.act.rawValue, receipt.outcome.rawValue]
        facts.append("generation \(receipt.generation)")
        if let resources = receipt.resources { facts.append("\(resources) titles") }
        if let subject = receipt.subject { facts.append("title \(subject)") }
        return facts.joined(separator: "  ") + "\n"
    }

    private static func line(_ fault: AuditFault) -> String {
        let what =
            switch fault.kind {
            case .unreadable: "is no receipt"
            case .signature: "was changed: its signature is not of its content"
            case .stranger: "is another vault's, or was signed with another key"
            case .sequence: "stands in the wrong place: lines before it are missing or were exchanged"
            case .chain: "does not follow the line before it"
            case .cut: "is missing, and all behind it: the keyring knows of more"
            }
        return "line \(fault.line) \(what)\n"
    }

    private static func time(_ seconds: Int64) -> String {
        Date(timeIntervalSince1970: TimeInterval(seconds)).ISO8601Format()
    }
}
