import Foundation
import MediaVault
import VaultService

/// Where bytes came from, for a person to read: an answer a paragraph, a run a line.
enum ExplanationSheet {
    static func text(_ document: ExplanationDocument) -> String {
        let held = document.held.map { "\($0[0])-\($0[1] - 1)" }.joined(separator: ", ")
        var text = FactSheet.text([
            ("url", document.url), ("size", document.size.value.map(String.init) ?? "unknown"),
            ("held", held.isEmpty ? "nothing" : held),
        ])
        if document.answers.isEmpty { text += "no answers: none was given since the service began, or none runs\n" }
        for answer in document.answers { text += paragraph(answer) }
        return text
    }

    private static func paragraph(_ answer: ExplanationDocument.Answer) -> String {
        let when = answer.ended.map { Date(timeIntervalSince1970: TimeInterval($0)).formatted(.iso8601) }
        var text = "\n\(when ?? "now"), \(ByteCount.text(answer.bytes))\n"
        for run in answer.runs {
            text += "  \(run.first)-\(run.end - 1)  \(words(run))\n"
        }
        if answer.omitted > 0 { text += "  and \(ByteCount.text(answer.omitted)) in runs beyond these\n" }
        return text
    }

    private static func words(_ run: ExplanationDocument.Run) -> String {
        switch run.source {
        case .vault: "from the vault"
        case .origin: "from the origin, sealed on the way"
        case .unstored: "from the origin, not stored"
        }
    }
}
