import MediaVault
import VaultService

/// The text that a command prints about a runbook.
enum RunbookText: Sendable {
    /// A response to a leak, whose steps are numbered and explained.
    case leakResponse
    /// A scheduled rotation, which prints only results.
    case renewal

    /// Returns the sentences that announce a step; empty if the previous step's announcement included this step.
    func announcement(_ step: KeyRunbook.Step, of runbook: KeyRunbook) -> [String] {
        guard self == .leakResponse else { return [] }
        return switch step {
        case .rotateRoot:
            ["1. rotate: creates a new root key, token key and generation, and revokes all links and tokens"]
        case .rotate: ["1. rotate: creates a new generation, and revokes all links and tokens"]
        case .revokeLinks: []
        case .rewrap: ["2. rewrap: after this, an old copy of the keyring opens no row of today's index"]
        case .reseal:
            [
                "3. reseal: after this, leaked title keys open nothing that is stored from now on. It takes a while"
            ]
        case .retire:
            (runbook.reseals ? [] : ["3. reseal: skipped"]) + [
                "4. retire: after this, no key of the keyring opens what is left of older rows. It cannot be undone"
            ]
        case .audit: ["5. report"]
        }
    }

    /// Returns whether to ask the user before a step.
    func asks(before step: KeyRunbook.Step) -> Bool { self == .leakResponse && ![.revokeLinks, .audit].contains(step) }

    /// Returns the name of a step's action, in a form that can be the subject of a sentence.
    static func name(_ step: KeyRunbook.Step) -> String {
        switch step {
        case .rotate: "rotating"
        case .rotateRoot: "rotating the root"
        case .revokeLinks: "revoking links"
        case .rewrap: "rewrapping"
        case .reseal: "resealing"
        case .retire: "retiring"
        case .audit: "checking the receipts"
        }
    }

    /// Returns a step's results, as one sentence each.
    static func results(_ ended: RunbookProgress.Ended) -> [String] {
        switch ended.outcome {
        case .done: ["\(name(ended.step)): done"]
        case .retired(let generations, _):
            generations.map { "retiring generation \($0): done" }
                + (generations.isEmpty ? [] : [CopiesText.afterRetirement])
        case .unopened, .damaged: []
        }
    }

    /// Returns one sentence for each thing that a step left undone.
    static func problems(_ ended: RunbookProgress.Ended) -> [String] {
        switch ended.outcome {
        case .done: []
        case .unopened(let keys):
            [
                UnopenedText.keys(keys),
                exception(ended.step),
            ]
        case .damaged(let report): ResealText(report).remarks + [exception(ended.step)]
        case .retired(_, let kept): kept.map(\.text)
        }
    }

    private static func exception(_ step: KeyRunbook.Step) -> String {
        "\(name(step)): done, except for what does not open: see above"
    }

    /// Returns the exit code for a runbook that ran to its end.
    static func status(_ progress: RunbookProgress) -> ExitStatus {
        switch progress.ended.first(where: { !$0.outcome.isComplete })?.outcome {
        case nil, .done: .done
        case .unopened, .damaged: .integrity
        case .retired(_, let kept): kept.first.map { ExitStatus($0.code) } ?? .done
        }
    }

    /// Returns a sentence about the state of each generation, except those that were already retired at an earlier
    /// time.
    ///
    /// - Parameter before: the state of the keys at the earlier time; nil to use `document` itself.
    static func generations(_ document: KeysDocument, since before: KeysDocument? = nil) -> [String] {
        let earlier = Set((before ?? document).generations.filter { $0.state == .retired }.map(\.number))
        return document.generations.filter { !earlier.contains($0.number) }.map { generation in
            "generation \(generation.number): \(generation.state), \(Count.of(generation.titles, "title")), "
                + "\(generation.bytes) bytes"
        }
    }
}

extension KeyRunbook {
    fileprivate var reseals: Bool {
        steps.contains { if case .reseal = $0 { true } else { false } }
    }
}
