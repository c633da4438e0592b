import ArgumentParser
import Foundation
import MediaVault
import OriginTestSupport
import Testing
import VaultService

@testable import VaultCommand

/// Settings that are lists of hosts, through the service that owns the vault or without it.
@Suite("Settings that name hosts", .timeLimit(.minutes(2)))
struct HostSettingTests {
    static let lists: [ConfigKey] = [.allowHost, .ignoreEtag, .immutable]

    private let served: ServedLab

    init() async throws { served = try await ServedLab() }

    @Test(
        "A host can be added and removed by name, through the service or without it", arguments: lists, [true, false])
    func list(key: ConfigKey, isServed: Bool) async throws {
        let name = key.rawValue
        let service = isServed ? try await served.serve() : nil
        for arguments in [["b.example", "A.example"], ["--host", "c.example"], ["d.example", "--host", "e.example"]] {
            #expect(try await act(isServed, ["config", "set", name] + arguments).status == 0, "\(arguments)")
        }
        let all = ["a.example", "b.example", "c.example", "d.example", "e.example"]
        #expect(try await listed(isServed, name) == all)
        #expect(try await act(isServed, ["config", "unset", name, "b.example", "--host", "E.example"]).status == 0)
        #expect(try await listed(isServed, name) == ["a.example", "c.example", "d.example"])
        for other in Self.lists where other != key { #expect(try await listed(isServed, other.rawValue) == []) }
        for arguments in [["set", name], ["unset", name], ["set", name, "no host"], ["set", name, "--host", ""]] {
            let refused = try await act(isServed, ["config"] + arguments)
            #expect(refused.status == 2 && refused.error != nil, "\(arguments)")
        }
        #expect(try await listed(isServed, name) == ["a.example", "c.example", "d.example"])
        if let service {
            // The setting belongs to the vault, not to the service.
            service.signal(SIGTERM)
            #expect(await service.result.status == 0)
            #expect(try await listed(false, name) == ["a.example", "c.example", "d.example"])
        }
    }

    @Test("Once a host is named, requests to it carry no entity tag", arguments: [true, false])
    func tags(isServed: Bool) async throws {
        let tag = try #require(served.title.entityTag)
        let service = isServed ? try await served.serve() : nil
        #expect(try await conditions(isServed, "/before.mp4").contains(tag), "before, requests carry it")
        #expect(try await act(isServed, ["config", "set", "ignore-etag", "--host", "127.0.0.1"]).status == 0)
        let conditions = try await conditions(isServed, "/after.mp4")
        #expect(!conditions.isEmpty && !conditions.contains(tag))
        withExtendedLifetime(service) {}
    }

    /// The conditions of the requests for the middle of a title whose beginning is held.
    private func conditions(_ isServed: Bool, _ path: String) async throws -> [String?] {
        let url = served.origin.url(path).absoluteString
        #expect(try await act(isServed, ["cat", url, "--range", "0-9"]).status == 0)
        let asked = served.origin.exchanges.count
        let middle = try await act(isServed, ["cat", url, "--range", "500000-500009"])
        #expect(middle.status == 0 && middle.output == Array(served.media[500_000..<500_010]))
        return served.origin.exchanges[asked...].map(\.request.ifRange)
    }

    @Test("Only settings about hosts accept a host, and every setting requires a value")
    func refused() throws {
        for key in ConfigKey.allCases where !(Self.lists + [.ignoreQuery, .clientCertificate]).contains(key) {
            #expect(throws: UsageError.self, "\(key)") { try key.change(["1d"], host: "a.example") }
            #expect(throws: UsageError.self, "\(key)") { try key.absence([], host: "a.example") }
        }
        for key in ConfigKey.allCases { #expect(throws: UsageError.self, "\(key)") { try key.change([], host: nil) } }
    }

    private func act(_ isServed: Bool, _ arguments: [String]) async throws -> CommandResult {
        try await served.lab.start(arguments, setting: isServed ? ServedLab.keyless : [:]).result
    }

    private func listed(_ isServed: Bool, _ name: String) async throws -> [String] {
        let lines = try await act(isServed, ["config", "get", name])
        #expect(lines.status == 0)
        let settings = try JSONDecoder().decode(
            SettingsDocument.self, from: Data(try await act(isServed, ["config", "get", "--json"]).output))
        let told = [
            "allow-host": settings.allowHost, "ignore-etag": settings.ignoreEtag, "immutable": settings.immutable,
        ]
        let hosts = lines.text.split(separator: "\n").map(String.init)
        #expect(told[name] == hosts)
        return hosts
    }
}
