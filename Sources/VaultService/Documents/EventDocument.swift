/// One line of an answer that tells how a long act comes along: `{"progress":…}` while it runs, and last either
/// `{"done":…}` or `{"problem":…}`.
package enum EventDocument<Progress: Codable & Sendable, Outcome: Codable & Sendable>: Codable, Sendable {
    case progress(Progress)
    case done(Outcome)
    case problem(ProblemDocument)

    private enum CodingKeys: CodingKey { case progress, done, problem }

    package init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        if let progress = try members.decodeIfPresent(Progress.self, forKey: .progress) {
            self = .progress(progress)
        } else if let outcome = try members.decodeIfPresent(Outcome.self, forKey: .done) {
            self = .done(outcome)
        } else {
            self = .problem(try members.decode(ProblemDocument.self, forKey: .problem))
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: CodingKeys.self)
        switch self {
        case .progress(let progress): try members.encode(progress, forKey: .progress)
        case .done(let outcome): try members.encode(outcome, forKey: .done)
        case .problem(let problem): try members.encode(problem, forKey: .problem)
        }
    }
}
