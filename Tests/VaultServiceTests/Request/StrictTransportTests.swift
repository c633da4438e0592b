import MediaVault
import Testing
import VaultModel

@testable import VaultService

@Suite("Telling browsers to come by TLS only")
struct StrictTransportTests {
    private static let names = ["vault.example", "192.0.2.7", "[2001:db8::1]", "localhost", "a.localhost"]

    @Test(
        "At the port of HTTPS, the names that the operator gave say so; addresses and this machine's names never do",
        arguments: [
            ("vault.example", true), ("Vault.Example:443", true), ("vault.example:8443", false), ("192.0.2.7", false),
            ("[2001:db8::1]", false), ("localhost", false), ("a.localhost", false), ("other.example", false),
            ("", false),
        ])
    func names(host: String, expected: Bool) {
        let strict = StrictTransport(hostNames: Self.names, isSecure: true, choice: nil)
        #expect(strict.applies(to: host, port: 443) == expected)
        #expect(!strict.applies(to: host, port: nil))
        #expect(!StrictTransport(hostNames: Self.names, isSecure: true, choice: false).applies(to: host, port: 443))
        #expect(!StrictTransport(hostNames: Self.names, isSecure: false, choice: true).applies(to: host, port: 443))
    }

    @Test("At another port only the operator's word counts: the name may be that of other services, too")
    func otherPorts() {
        for (choice, expected) in [(nil, false), (true, true), (false, false)] as [(Bool?, Bool)] {
            let strict = StrictTransport(hostNames: Self.names, isSecure: true, choice: choice)
            #expect(strict.applies(to: "vault.example:8443", port: 8443) == expected)
            #expect(!strict.applies(to: "localhost:8443", port: 8443))
        }
    }
}
