import Foundation
import MediaVault
import OriginTestSupport
import Testing
import VaultTestSupport

/// A vault with one title, for tests of unlock methods; the files `old` and `new` hold a passphrase each.
struct SlotLab {
    private let lab: CommandLab
    private let title = ScriptedResource(seed: 3, length: 50_000)
    private let origin: ScriptedOrigin
    private var url: String { origin.url().absoluteString }

    var folder: TemporaryFolder { lab.folder }

    init() async throws {
        lab = try CommandLab()
        origin = try ScriptedOrigin(title)
        try #require(try await lab.run("init").status == 0)
        try #require(try await lab.run("fetch", url).status == 0)
        try folder.write("old words\n", to: "old")
        try folder.write("new words\n", to: "new")
    }

    /// The output of `keys slot list --json`.
    struct Listing: Decodable {
        struct Slot: Decodable {
            let number: Int
            let label: String
            let method: String
            let opsLimit: Int64?
            let memLimit: Int64?
        }
        let vault: String
        let revision: Int64
        let slots: [Slot]
    }

    func path(_ name: String) -> String { folder.path + "/" + name }

    /// The bytes of a file.
    func contents(of name: String) -> Data? { FileManager.default.contents(atPath: path(name)) }

    @discardableResult
    func run(_ arguments: String..., setting more: [String: String] = [:]) async throws -> CommandResult {
        try await lab.start(arguments, setting: more).result
    }

    func start(_ arguments: [String], setting more: [String: String] = [:]) throws -> RunningCommand {
        try lab.start(arguments, setting: more)
    }

    /// Whether an unlock method opens the vault.
    func opens(_ variables: [String: String]) async throws -> Bool {
        let none = ["MEDIAVAULT_KEY_FILE": ""]
        let result = try await lab.start(["cat", url, "--offline"], setting: none.merging(variables) { $1 }).result
        guard result.status == 0 else {
            #expect(result.status == 3, "\(result.errors)")
            return false
        }
        return result.output == title.media.bytes(0..<50_000)
    }

    /// A running service, if the test wants one.
    func serve(_ isServed: Bool) async throws -> RunningCommand? {
        guard isServed else { return nil }
        let service = try lab.start(["serve", "--listen", "127.0.0.1:0"])
        _ = try #require(await service.line { $0.contains("serving") })
        return service
    }

    func listing() async throws -> Listing {
        // The command needs no key.
        let result = try await lab.run("keys", "slot", "list", "--json", setting: ["MEDIAVAULT_KEY_FILE": "/nowhere"])
        #expect(result.status == 0)
        return try JSONDecoder().decode(Listing.self, from: Data(result.output))
    }
}
