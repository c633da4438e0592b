import Foundation
import MediaVault
import OriginTestSupport
import Testing
import VaultTestSupport

/// verify, export and index rebuild as a user runs them.
@Suite struct VerifyCommandTests {
    private static let length: Int64 = 1_000_000
    private let lab: CommandLab
    private let resource = ScriptedResource(length: length)
    private let origin: ScriptedOrigin
    private var title: String { origin.url("/dir/film.mp4?token=geheim").absoluteString }

    init() async throws {
        lab = try CommandLab()
        origin = try ScriptedOrigin(resource)
        try #require(try await lab.run("init").status == 0)
        try #require(try await lab.run("fetch", title).status == 0)
    }

    private func flip(_ offset: Int = 88 + 2 * 32_784) throws {
        let name = try #require(lab.folder.files().first { $0.hasPrefix("vault/segments/") })
        let url = URL(filePath: lab.folder.path + "/" + name)
        var bytes = try Data(contentsOf: url)
        bytes[offset] ^= 1
        try bytes.write(to: url)
    }

    @Test("verify of a sound vault ends with exit code 0 and prints 0 for every kind of damage")
    func sound() async throws {
        let result = try await lab.run("verify", "--json")
        #expect(result.status == 0)
        #expect(
            result.text == """
                {"bytesOpened":1000000,"bytesRefetched":0,"damage":{"block":0,"header":0,"key":0,"missing":0,"record":0,\
                "resource":0,"row":0,"settings":0,"size":0},"damagedResources":0,"orphans":{"adopted":0,"good":0,"quarantined":0,\
                "strange":0},"records":[],"remaining":0,"resources":[],"restored":0,"segments":1,"sound":true,"unreadable":0}

                """)
        let people = try await lab.run("verify")
        #expect(people.text == "opened  1.0 MB in 1 segment\ndamage  none\n")
    }

    @Test("verify finds a flipped bit and ends with 4; with --repair it fetches only that block and ends with 0")
    func repair() async throws {
        try flip()
        let found = try await lab.run("verify", "--json")
        #expect(found.status == 4)
        #expect(found.text.contains("\"damage\":{\"block\":1}") && found.text.contains("\"ranges\":[[65536,98304]]"))
        #expect(found.text.contains("\"repaired\":false") && found.text.contains("\"sound\":false"))
        #expect(!found.text.contains("geheim"), "a query may be a token")
        let asked = origin.exchanges.count
        let repaired = try await lab.run("verify", "--repair")
        #expect(repaired.status == 0)
        #expect(repaired.text.contains("fetched again  32.7 kB") && repaired.text.contains(": repaired"))
        #expect(origin.exchanges[asked...].map(\.request.range) == ["bytes=65536-98303"])
        #expect(try await lab.run("verify").status == 0)
    }

    @Test("Damage that cannot be repaired gives exit code 4 and the reason") func notMended() async throws {
        try flip()
        origin.stop()
        let result = try await lab.run("verify", "--repair")
        #expect(result.status == 4)
        #expect(result.text.contains("cannot be reached"))
        #expect(result.errors.allSatisfy { !$0.contains("geheim") })
    }

    @Test("A read error gives exit code 1, because it proves neither damage nor soundness")
    func unreadable() async throws {
        let name = try #require(lab.folder.files().first { $0.hasPrefix("vault/segments/") })
        let path = lab.folder.path + "/" + name
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        #expect(try await lab.run("verify").status == 1)
    }

    @Test(
        "An invalid share or rate is refused",
        arguments: [
            ["--sample", "0"], ["--sample", "101"], ["--sample", "half"], ["--limit-rate", "0"],
            ["--limit-rate", "5x"],
        ])
    func refused(arguments: [String]) async throws {
        #expect(try await lab.start(["verify"] + arguments).result.status == 2)
    }

    @Test(
        "A sample and a rate may be written as people write them",
        arguments: [["--sample", "50%"], ["--limit-rate", "20M"]])
    func accepted(arguments: [String]) async throws {
        #expect(try await lab.start(["verify"] + arguments).result.status == 0)
    }

    @Test("export writes the file, shows its progress, and asks no origin") func export() async throws {
        origin.stop()
        let target = lab.folder.path + "/out.mp4"
        let result = try await lab.run("export", title, target)
        #expect(result.status == 0 && result.text.isEmpty)
        #expect(result.errors.last == "mediavault: out.mp4: 100 %, 1.0 MB of 1.0 MB")
        #expect(Array(try Data(contentsOf: URL(filePath: target))) == resource.media.bytes(0..<Self.length))
        #expect(try lab.folder.mode(of: "out.mp4") == 0o600)
        let again = try await lab.run("export", title, target)
        #expect(again.status == 2 && again.error?.contains("--force") == true)
        #expect(try await lab.run("export", title, target, "--force").status == 0)
    }

    @Test("export of an incomplete title ends with exit code 6, reports the missing bytes, and creates no file")
    func hole() async throws {
        let other = origin.url("/other.mp4").absoluteString
        #expect(try await lab.run("cat", other, "--range", "0-99999").status == 0)
        let target = lab.folder.path + "/out.mp4"
        let result = try await lab.run("export", other, target)
        #expect(result.status == 6)
        #expect(
            result.error?.contains("900000 of 1000000 bytes") == true && result.error?.contains("byte 100000") == true)
        #expect(!lab.folder.files().contains { $0.hasSuffix(".mp4") || $0.hasSuffix(".part") })
        #expect(try await lab.run("export", origin.url("/unknown.mp4").absoluteString, target).status == 6)
    }

    @Test("export refuses standard output and points to cat") func standardOutput() async throws {
        let result = try await lab.run("export", title, "-")
        #expect(result.status == 2 && result.error?.contains("cat") == true)
    }

    @Test("A lost index is reported, and index rebuild creates it again") func rebuild() async throws {
        for name in lab.folder.files() where name.hasPrefix("vault/index.sqlite") {
            try FileManager.default.removeItem(atPath: lab.folder.path + "/" + name)
        }
        for arguments in [["list"], ["fetch", title], ["init"], ["verify"]] {
            let lost = try await lab.start(arguments).result
            #expect(lost.status == 4 && lost.error?.contains("index rebuild") == true, "\(arguments)")
        }
        let result = try await lab.run("index", "rebuild", "--json")
        #expect(result.status == 0)
        #expect(
            result.text == """
                {"areSettingsLost":false,"badBlocks":0,"bytes":1000000,"cut":0,"isFromFormerBackup":false,"quarantined":0,"resources":1,"segments":1,"unknown":0}

                """)
        origin.stop()
        #expect(try await lab.run("verify").status == 0)
        #expect(try await lab.run("cat", title, "--offline").output == resource.media.bytes(0..<Self.length))
        let sound = try await lab.run("index", "rebuild")
        #expect(sound.status == 2 && sound.error?.contains("--force") == true)
    }

    @Test("Without a catalog backup, the message says that nothing can be rebuilt") func noBackup() async throws {
        for name in ["catalog.backup", "catalog.backup.1"] {
            try? FileManager.default.removeItem(atPath: lab.vault + "/" + name)
        }
        try FileManager.default.removeItem(atPath: lab.vault + "/index.sqlite")
        let result = try await lab.run("index", "rebuild")
        #expect(result.status == 1 && result.error?.contains("nothing can be rebuilt") == true)
    }
}
