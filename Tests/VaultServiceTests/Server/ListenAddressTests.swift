import Testing
import VaultModel

@testable import VaultService

@Suite("Listen address")
struct ListenAddressTests {
    @Test(
        "A host and port are parsed and printed unchanged",
        arguments: [
            ("127.0.0.1:8300", "127.0.0.1", 8300), ("localhost:0", "localhost", 0), ("[::1]:80", "::1", 80),
            ("0.0.0.0:65535", "0.0.0.0", 65535),
        ])
    func reads(text: String, host: String, port: Int) throws {
        let address = try ListenAddress(text)
        #expect(address == ListenAddress(host: host, port: port))
        #expect(address.description == text)
    }

    @Test(
        "An invalid address is refused",
        arguments: [
            "", "8300", ":8300", "localhost", "localhost:", "localhost:65536", "localhost:-1", "localhost:x",
            "::1:8300", "[]:80",
        ])
    func refuses(text: String) {
        #expect { try ListenAddress(text) } throws: { ($0 as? VaultError)?.code == .invalidArgument }
    }

    @Test(
        "Only addresses of this machine are loopback",
        arguments: [
            ("127.0.0.1", true), ("127.9.9.9", true), ("localhost", true), ("LocalHost", true), ("::1", true),
            ("0.0.0.0", false), ("::", false), ("192.168.1.2", false), ("127.example.org", false),
            ("127.0.0.1.evil.test", false),
            ("127.0.0.256", false), ("128.0.0.1", false),
        ])
    func loopback(host: String, isLoopback: Bool) {
        #expect(ListenAddress(host: host, port: 1).isLoopback == isLoopback)
    }
}
