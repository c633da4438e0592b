/// Why a representation is given although its origin was not found to have it still.
public enum Staleness: String, Sendable {
    /// The origin did not answer.
    case unreachable
    /// The origin has not answered yet: a player is not kept waiting for it.
    case slow = "timeout"
    /// The origin refused the question.
    case refused
    /// The origin's answer could not be right.
    case lied = "invalid-answer"
    /// It has neither entity tag nor date to ask by.
    case unverifiable = "no-validator"
    /// The mode forbids to ask.
    case offline
    /// The mode has what is held come first.
    case preferVault = "prefer-vault"

    /// Whether the origin was not to be asked.
    package var isByMode: Bool { self == .offline || self == .preferVault }
}
