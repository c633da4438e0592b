import Testing
import VaultModel

@testable import VaultCache

@Suite("The identity in request fields")
struct IdentityTests {
    @Test(
        "Every field that may be a credential counts; Authorization or Cookie alone counts by its value",
        arguments: [
            (HeaderFields(["authorization": "Bearer x", "Accept": "*/*"]), "Bearer x"),
            (HeaderFields(["Cookie": "c=1"]), "c=1"),
            (HeaderFields(["authorization": "Bearer x", "Cookie": "c"]), "authorization: Bearer x\ncookie: c"),
            (HeaderFields(["Cookie": "c", "Authorization": "Bearer x"]), "authorization: Bearer x\ncookie: c"),
            (HeaderFields(["Authorization": "a", "authorization": "b"]), "authorization: a\nauthorization: b"),
            (HeaderFields(["Cookie": "c=1", "X-Token": "t"]), "cookie: c=1\nx-token: t"),
            (HeaderFields(["X-Token": "t", "A-Key": "k", "User-Agent": "me"]), "a-key: k\nx-token: t"),
            (HeaderFields(["User-Agent": "me", "Referer": "http://a.example/", "accept": "*/*"]), nil),
            (HeaderFields(), nil),
        ])
    func identity(fields: HeaderFields, identity: String?) {
        #expect(Identity.bytes(of: fields) == identity.map { Array($0.utf8) })
    }
}
