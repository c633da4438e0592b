import Testing

@testable import VaultService

@Suite("Admin token")
struct AdminTokenTests {
    @Test(
        "Only the whole token, as a bearer's, is taken",
        arguments: [
            ("Bearer s3cret", true), ("bearer s3cret", true), ("Bearer  s3cret ", true),
            ("Bearer s3cre", false), ("Bearer s3crett", false), ("Bearer S3cret", false), ("Bearer ", false),
            ("Bearer", false),
            ("s3cret", false), ("Basic s3cret", false), ("", false),
        ])
    func carried(field: String, isCarried: Bool) {
        #expect(AdminToken("s3cret").isCarried(by: field) == isCarried)
    }

    @Test("An empty token opens nothing")
    func empty() {
        #expect(!AdminToken("").isCarried(by: "Bearer "))
        #expect(!AdminToken("x").isCarried(by: nil))
    }
}
