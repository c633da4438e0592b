/// What is asked of `POST /api/v1/retirements`.
struct RetirementOrder: Codable, Sendable {
    let generation: Int
}
