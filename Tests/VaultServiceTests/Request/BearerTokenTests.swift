import Testing

@testable import VaultService

@Suite("Bearer tokens")
struct BearerTokenTests {
    @Test(
        "A token is read only from a Bearer field",
        arguments: [
            ("Bearer s3cret", "s3cret"), ("bearer s3cret", "s3cret"), ("Bearer  s3cret ", "s3cret"), ("Bearer ", ""),
            ("Bearer", nil), ("s3cret", nil), ("Basic s3cret", nil), ("", nil), (nil, nil),
        ] as [(String?, String?)])
    func read(field: String?, token: String?) {
        #expect(BearerToken.read(field) == token)
    }
}
