/// What is asked of `POST /api/v1/destructions`.
struct DestructionOrder: Codable, Sendable {
    /// The id of the vault that is meant: whoever asks has looked at it.
    let vault: String
}
