import MediaVault
import Testing

@testable import VaultCommand

@Suite("The time of ready")
struct ReadyTimeTests {
    private static let now = Timestamp("2026-11-24T15:00:00Z")?.seconds ?? 0

    @Test(
        "A day counts to its end, an age from now, and a time is itself",
        arguments: [
            ("2026-11-24", "2026-11-25T00:00:00Z"), ("2027-01-31", "2027-02-01T00:00:00Z"),
            ("2027-01-31T12:00:00Z", "2027-01-31T12:00:00Z"), ("7d", "2026-12-01T15:00:00Z"),
            ("90s", "2026-11-24T15:01:30Z"), ("1w", "2026-12-01T15:00:00Z"), ("1y", "2027-11-24T15:00:00Z"),
        ])
    func times(text: String, expected: String) throws {
        #expect(try ReadyTime.parse(text, now: Self.now).description == expected)
    }

    @Test(
        "What is no time, or has passed, is refused",
        arguments: ["", "7", "2z", "0d", "-1d", "2026-11-23", "2026-02-30", "9999999999d", "2026-11-24T14:59:59Z"])
    func refused(text: String) {
        #expect(throws: UsageError.self) { try ReadyTime.parse(text, now: Self.now) }
    }
}
