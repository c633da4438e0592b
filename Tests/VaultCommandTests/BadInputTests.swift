import Foundation
import MediaVault
import OriginTestSupport
import Testing
import VaultTestSupport

/// For every bad input, the command prints one clear sentence, exits with the documented code, and loses no held bytes.
@Suite struct BadInputTests {
    private static let length: Int64 = 200_000
    private let lab: CommandLab
    private let resource = ScriptedResource(length: length)
    private let origin: ScriptedOrigin
    private var title: String { origin.url().absoluteString }

    init() async throws {
        lab = try CommandLab()
        origin = try ScriptedOrigin(resource)
        try #require(try await lab.run("init").status == 0)
        try #require(try await lab.run("cat", title, "--range", "0-99999").status == 0)
    }

    /// Checks one bad run, and that all held bytes are still there afterwards.
    private func expect(
        _ status: Int32, of arguments: String..., setting variables: [String: String] = [:],
        saying words: String..., sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let result = try await lab.start(arguments, setting: variables).result
        #expect(result.status == status, "\(result.errors)", sourceLocation: sourceLocation)
        let error = try #require(result.errors.last, sourceLocation: sourceLocation)
        #expect(error.hasPrefix("mediavault: ") && !error.hasSuffix("."), sourceLocation: sourceLocation)
        for word in words { #expect(error.contains(word), sourceLocation: sourceLocation) }
    }

    private func expectNothingLost(sourceLocation: SourceLocation = #_sourceLocation) async throws {
        let held = try await lab.run("cat", title, "--range", "0-99999", "--offline")
        #expect(held.status == 0 && held.output == resource.media.bytes(0..<100_000), sourceLocation: sourceLocation)
    }

    // MARK: 1

    @Test("A media socket in a folder that does not exist is one message, and nothing is announced before")
    func socketNowhere() async throws {
        let path = lab.folder.path + "/nowhere/x.sock"
        let result = try await lab.run("serve", "--listen", "127.0.0.1:0", "--media-socket", path)
        #expect(result.status == 1 && result.errors.count == 2, "\(result.errors)")
        #expect(result.errors.first?.contains("the vault was unlocked") == true, "\(result.errors)")
        for word in ["level=error", path, "create the folder"] {
            #expect(result.errors.last?.contains(word) == true, "\(result.errors)")
        }
    }

    @Test("A folder that is not a vault and a missing keyring give exit code 1") func noVault() async throws {
        let nowhere = lab.folder.path + "/nowhere"
        for command in [["list"], ["status"], ["info", title], ["fetch", title], ["cat", title], ["serve"]] {
            let result = try await lab.start(command, setting: ["MEDIAVAULT_DIR": nowhere]).result
            #expect(result.status == 1 && result.error?.contains(nowhere) == true, "\(command)")
        }
        #expect(!FileManager.default.fileExists(atPath: nowhere))
        try await expect(
            1, of: "list", setting: ["MEDIAVAULT_KEYRING": nowhere], saying: nowhere, "mediavault keys restore")
        let other = ["MEDIAVAULT_DIR": nowhere]
        try await expect(
            2, of: "init", setting: other, saying: "give the new vault a keyring", "--for-existing-keyring")
        try await expectNothingLost()
    }

    @Test("A file of certificates in DER form is refused with the way to convert it, and others without")
    func certificates() async throws {
        let file = lab.folder.path + "/authority"
        try Data([0x30, 0x82, 0x01, 0x0A, 0x02, 0x82, 0xFF, 0x00]).write(to: URL(filePath: file))
        try await expect(2, of: "config", "set", "ca-file", file, saying: file, "DER", "openssl x509 -inform der")
        try Data("0 certificates".utf8).write(to: URL(filePath: file))
        try await expect(2, of: "config", "set", "ca-file", file, saying: "no certificate")
        try await expect(2, of: "config", "set", "ca-file", file + ".none", saying: file, "cannot be read")
    }

    @Test("A vault with another owner gives exit code 1, and the message names the owner")
    func owned() async throws {
        let (gate, title) = (Gate(), resource)
        origin.answer { request in
            var answer = title.answer(to: request)
            if request.method == "GET" { answer.insert(.hold(gate), at: 0) }
            return answer
        }
        let owner = try lab.start(["fetch", self.title])
        await origin.wait { $0.contains { $0.phase == .held } }
        try await expect(1, of: "fetch", self.title, saying: "process \(owner.processIdentifier)")
        try await expectNothingLost()
        gate.open()
        #expect(await owner.result.status == 0)
    }

    // MARK: 2

    @Test("A malformed URL and a range outside the title give exit code 2") func usage() async throws {
        try await expect(2, of: "fetch", "film.mp4", saying: "URL")
        try await expect(2, of: "fetch", "--list", "/", saying: "is a folder", "a title on each line")
        try await expect(2, of: "cat", "https:///film.mp4", saying: "URL")
        try await expect(2, of: "cat", title, "--range", "200000-", saying: "200000")
        try await expect(2, of: "cat", title, "--range", "-0")
        try await expectNothingLost()
    }

    // MARK: 3

    @Test("A wrong, missing, world-readable or wrong-sized key file gives exit code 3")
    func keyFile() async throws {
        func named(_ name: String) -> [String: String] { ["MEDIAVAULT_KEY_FILE": lab.folder.path + "/" + name] }
        try lab.folder.write([UInt8](repeating: 7, count: 32), to: "wrong")
        try lab.folder.write([UInt8](repeating: 7, count: 31), to: "short")
        try lab.folder.write([UInt8](repeating: 7, count: 33), to: "long")
        let key = try Data(contentsOf: URL(filePath: lab.folder.path + "/key"))
        try lab.folder.write(Array(key), to: "loose", mode: 0o644)
        try await expect(3, of: "list", setting: named("wrong"))
        try await expect(3, of: "list", setting: named("missing"), saying: "missing")
        try await expect(3, of: "list", setting: named("short"), saying: "32 bytes")
        try await expect(3, of: "list", setting: named("long"), saying: "32 bytes")
        try await expect(3, of: "list", setting: named("loose"), saying: "--allow-loose-key-file")
        try await expect(3, of: "url", title, setting: named("wrong"))
        #expect(try await lab.run("list", "--allow-loose-key-file", setting: named("loose")).status == 0)
        try await expectNothingLost()
    }

    @Test("A wrong passphrase gives exit code 3") func passphrase() async throws {
        try lab.folder.write("words\n", to: "words")
        try await expect(3, of: "list", "--passphrase-file", lab.folder.path + "/words")
        try await expectNothingLost()
    }

    @Test("A foreign or damaged keyring gives exit code 3") func keyring() async throws {
        let other = try CommandLab()
        try FileManager.default.copyItem(atPath: lab.folder.path + "/key", toPath: other.folder.path + "/key")
        try #require(try await other.run("init").status == 0)
        try await expect(3, of: "list", setting: ["MEDIAVAULT_KEYRING": other.folder.path + "/keyring.json"])
        let bytes = try Data(contentsOf: URL(filePath: lab.folder.path + "/keyring.json"))
        try lab.folder.write(Array(bytes.dropLast(20)), to: "cut.json")
        try await expect(3, of: "list", setting: ["MEDIAVAULT_KEYRING": lab.folder.path + "/cut.json"])
        try lab.folder.write("no keyring", to: "text.json")
        try await expect(3, of: "list", setting: ["MEDIAVAULT_KEYRING": lab.folder.path + "/text.json"])
        try await expectNothingLost()
    }

    // MARK: 4

    @Test("A changed stored byte gives exit code 4, and no byte of its block is written") func integrity()
        async throws
    {
        for name in lab.folder.files() where name.contains("vault/segments/") {
            let file = URL(filePath: lab.folder.path + "/" + name)
            var bytes = Array(try Data(contentsOf: file))
            bytes[bytes.count / 2] ^= 1
            try Data(bytes).write(to: file)
        }
        let result = try await lab.run("cat", title, "--range", "0-99999", "--offline")
        #expect(result.status == 4, "\(result.errors)")
        #expect(result.output == resource.media.bytes(0..<Int64(result.output.count)) && result.output.count < 100_000)
    }

    // MARK: 5

    @Test("An unreachable origin gives exit code 5") func unreachable() async throws {
        origin.stop()
        try await expect(5, of: "fetch", title, saying: "127.0.0.1:\(origin.port)")
        try await expect(5, of: "fetch", origin.url("/never-seen.mp4").absoluteString)
        try await expect(5, of: "cat", origin.url("/never-seen.mp4").absoluteString)
        try await expect(5, of: "cat", title)
        try await expectNothingLost()
    }

    @Test("An origin that refuses gives exit code 5", arguments: [401, 403, 404, 410, 500])
    func refuses(_ status: Int)
        async throws
    {
        origin.answer { _ in ScriptedAnswer(status, fields: ["Content-Length": "0"]) }
        try await expect(5, of: "fetch", origin.url("/new.mp4?token=hunter2").absoluteString, saying: "\(status)")
        try await expectNothingLost()
    }

    @Test("An origin with an invalid response gives exit code 5") func lies() async throws {
        let title = resource
        origin.answer { request in
            var answer = title.answer(to: request)
            if request.method == "GET" {
                answer.status = 206
                answer.set("Content-Range", "bytes 5-4/3")
            }
            return answer
        }
        try await expect(5, of: "fetch", origin.url("/new.mp4").absoluteString)
        try await expectNothingLost()
    }

    // MARK: 6

    @Test("Offline, cat writes the held bytes, then ends with exit code 6 at the gap") func notHeld() async throws {
        try await expect(6, of: "cat", origin.url("/never-seen.mp4").absoluteString, "--offline")
        try await expect(6, of: "cat", title, "--range", "100000-", "--offline")
        let part = try await lab.run("cat", title, "--offline")
        #expect(part.status == 6 && part.output == resource.media.bytes(0..<100_000))
        let range = try await lab.run("cat", title, "--range", "50000-150000", "--offline")
        #expect(range.status == 6 && range.output == resource.media.bytes(50_000..<100_000))
        try await expectNothingLost()
    }
}
