import Testing
import VaultModel

@testable import VaultService

@Suite("Host check")
struct HostCheckTests {
    @Test(
        "A request with a name of this machine and the listener's port is allowed",
        arguments: [
            "127.0.0.1:8300", "localhost:8300", "LOCALHOST:8300", "[::1]:8300", "nas.example:8300", "NAS.example:8300",
        ])
    func allowed(host: String) throws {
        #expect(try HostCheck(hostNames: ["nas.example"]).verdict(on: [host], port: 8300) == .allowed)
    }

    @Test(
        "Every other name or port is foreign",
        arguments: [
            "evil.test", "127.0.0.1", "localhost", "127.0.0.1:8301", "localhost:80", "127.0.0.1.evil.test:8300",
            "evil.test:8300", "127.0.0.2:8300", "[::1%25lo]:8300", "::1:8300", "localhost.:8300", "2130706433:8300",
            "x@localhost:8300", "localhost:8300 ", "localhost:08300", ":8300", "localhost:8300,localhost:8300",
        ])
    func foreign(host: String) throws {
        #expect(try HostCheck().verdict(on: [host], port: 8300) == .foreign)
    }

    @Test("A missing, empty or repeated Host is invalid", arguments: [[], [""], ["localhost:8300", "localhost:8300"]])
    func malformed(fields: [String]) throws {
        #expect(try HostCheck().verdict(on: fields, port: 8300) == .malformed)
    }

    @Test("On port 80 the port may be omitted, as browsers do")
    func defaultPort() throws {
        #expect(try HostCheck().verdict(on: ["localhost"], port: 80) == .allowed)
        #expect(try HostCheck().verdict(on: ["localhost:80"], port: 80) == .allowed)
    }

    @Test("With TLS the port may be omitted if it is 443; a socket file accepts any single name")
    func otherListeners() throws {
        let secure = try HostCheck(isSecure: true)
        #expect(secure.verdict(on: ["localhost"], port: 443) == .allowed)
        #expect(secure.verdict(on: ["localhost"], port: 80) == .foreign)
        #expect(secure.verdict(on: ["anything"], port: nil) == .allowed)
        #expect(secure.verdict(on: [], port: nil) == .malformed)
    }

    @Test(
        "A host name with a port, a path or a scheme is refused",
        arguments: [
            "nas:9000", "nas/x", "http://nas", "", "na s", "user@nas",
        ])
    func badName(name: String) {
        #expect(throws: VaultError.self) { try HostCheck(hostNames: [name]) }
    }
}
