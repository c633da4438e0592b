import Testing
import VaultModel

@testable import VaultStorage

@Suite("Network settings in the sealed settings")
struct NetworkMembersTests {
    private static func network() throws -> NetworkSettings {
        var network = NetworkSettings()
        network.proxy = try ProxyAddress("http://me:pass%40word@proxy.example:3128")
        try network.setProxy(.direct, for: "a.example")
        try network.setProxy(ProxyChoice("socks5h://b.example:1080"), for: "[::1]")
        network.proxyFromEnvironment = true
        try network.setUserAgent("Kiosk/2")
        network.addressFamily = .ipv6
        return network
    }

    @Test("What was set is read again, and the settings of a new vault have no members")
    func roundTrip() throws {
        var settings = VaultSettings()
        #expect(try settings.network() == NetworkSettings())
        settings.setNetwork(try Self.network())
        #expect(try VaultSettings(settings.object)?.network() == Self.network())
        settings.setNetwork(NetworkSettings())
        #expect(settings.members.members.isEmpty)
    }

    @Test(
        "Members that are not what a writer writes are an error, so that no request goes without its proxy",
        arguments: [
            ("proxy", .string("http://proxy.example")), ("proxy", .integer(1)), ("proxyFor", .string("x")),
            ("proxyFor", .array([.object(["host": .string("a.example")])])), ("proxyFromEnvironment", .integer(1)),
            ("authorities", .string("no certificate")), ("userAgent", .string("a\nb")),
            ("addressFamily", .string("ipv5")),
        ] as [(String, JSONValue)])
    func invalid(name: String, value: JSONValue) throws {
        var settings = VaultSettings()
        settings.members[name] = value
        let error = #expect(throws: VaultError.self) { try settings.network() }
        #expect(error?.code == .integrity)
    }
}
