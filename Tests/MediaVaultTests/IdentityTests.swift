import Testing
import VaultModel

@testable import MediaVault

@Suite("Who a request says is asking")
struct IdentityTests {
    @Test(
        "Authorization says it, else Cookie, else whatever might",
        arguments: [
            (HeaderFields(["authorization": "Bearer x", "Cookie": "c"]), "Bearer x"),
            (HeaderFields(["Cookie": "c=1", "X-Token": "t"]), "c=1"),
            (HeaderFields(["X-Token": "t", "A-Key": "k", "User-Agent": "me"]), "a-key: k\nx-token: t"),
            (HeaderFields(["User-Agent": "me", "Referer": "http://a.example/", "accept": "*/*"]), nil),
            (HeaderFields(), nil),
        ])
    func identity(fields: HeaderFields, identity: String?) {
        #expect(Identity.bytes(of: fields) == identity.map { Array($0.utf8) })
    }
}
