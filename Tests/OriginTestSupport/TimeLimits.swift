/// Returns whether a test holds with a short time limit, or else with a longer one: a busy machine may reach the short
/// one although nothing is wrong.
package func holds(
    within limits: [Duration] = [.seconds(1), .seconds(10)], _ test: (Duration) async throws -> Bool
) async throws -> Bool {
    for limit in limits {
        if try await test(limit) { return true }
    }
    return false
}
