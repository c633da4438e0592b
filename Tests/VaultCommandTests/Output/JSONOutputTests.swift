import Foundation
import OriginTestSupport
import Testing
import VaultTestSupport

@Suite("Commands that change keys, and export, as scripts read them", .timeLimit(.minutes(2)))
struct JSONOutputTests {
    /// Returns the only line of standard output, which is an object.
    private func object(_ result: CommandResult) throws -> [String: Any] {
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.text.split(separator: "\n").count == 1)
        return try #require(JSONSerialization.jsonObject(with: Data(result.output)) as? [String: Any])
    }

    @Test("Slots, revoked links, backups and restores are one object each")
    func keys() async throws {
        let lab = try CommandLab()
        try await lab.run("init")
        let second = lab.folder.path + "/second"
        let added = try object(try await lab.run("keys", "slot", "add", "--new-key-file", second, "--json"))
        #expect(added["slot"] as? Int == 2 && added["keyFile"] as? String == second)
        #expect(added["restsWithVault"] as? Bool == true)
        let changed = try object(
            try await lab.run("keys", "change-passphrase", "--new-key-file", lab.folder.path + "/third", "--json"))
        #expect(changed["slot"] as? Int == 1 && changed["revoked"] as? Bool == false)
        let removed = try object(
            try await lab.run(
                "keys", "slot", "remove", "1", "--json", "--revoke", setting: ["MEDIAVAULT_KEY_FILE": second]))
        #expect(removed["slot"] as? Int == 1 && removed["revoked"] as? Bool == true)
        #expect((removed["kept"] as? [String])?.isEmpty == true)
        let revoked = try object(
            try await lab.run("keys", "revoke-links", "--json", setting: ["MEDIAVAULT_KEY_FILE": second]))
        #expect(revoked["linksRevoked"] as? Bool == true && revoked["tokenRevoked"] as? Bool == true)
        let passphrase = lab.folder.path + "/passphrase"
        try Data("correct horse battery".utf8).write(to: URL(filePath: passphrase))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: passphrase)
        let copy = lab.folder.path + "/copy"
        let kept = try object(
            try await lab.run(
                "keys", "backup", copy, "--backup-passphrase-file", passphrase, "--json",
                setting: ["MEDIAVAULT_KEY_FILE": second]))
        #expect(kept["file"] as? String == copy)
        let restored = try object(
            try await lab.run("keys", "restore", copy, "--backup-passphrase-file", passphrase, "--json"))
        #expect((restored["slots"] as? [[String: Any]])?.isEmpty == false)
        #expect(restored["warnings"] is [String] && restored["lostSlots"] is [Any] && restored["replaced"] is String)
        let locked = try object(try await lab.run("keys", "lock", "--json"))
        #expect(locked["locked"] as? Bool == false, "no service runs")
    }

    @Test("A renewal, a response to a leak and a new root key are one object each, with the steps and the state")
    func runbooks() async throws {
        let lab = try CommandLab()
        try await lab.run("init")
        let renewed = try object(try await lab.run("keys", "renew", "--min-age", "0", "--json"))
        #expect(renewed["complete"] as? Bool == true && (renewed["steps"] as? [[String: Any]])?.count ?? 0 > 1)
        #expect((renewed["keys"] as? [String: Any])?["current"] as? Int == 2)
        let young = try object(try await lab.run("keys", "renew", "--json"))
        #expect((young["keys"] as? [String: Any])?["current"] as? Int == 2)
        let answered = try object(try await lab.run("keys", "respond-to-leak", "--yes", "--json"))
        let steps = try #require(answered["steps"] as? [[String: Any]])
        #expect(steps.contains { !(($0["retired"] as? [Int]) ?? []).isEmpty })
        #expect(steps.allSatisfy { $0["complete"] as? Bool == true && ($0["problems"] as? [String]) == [] })
        let revoked = try object(try await lab.run("keys", "revoke-root", "--json"))
        #expect(revoked["revoked"] as? Bool == true && (revoked["kept"] as? [String]) == [])
        let failed = try await lab.run("keys", "renew", "--json", setting: ["MEDIAVAULT_DIR": "/none"])
        #expect(failed.status != 0 && failed.output.isEmpty, "nothing was begun")
    }

    @Test("An export is an object with the URL and the path of the file")
    func export() async throws {
        let served = try await ServedLab()
        try await served.lab.run("fetch", served.url)
        let file = served.lab.folder.path + "/film.mp4"
        let exported = try object(try await served.lab.run("export", served.url, file, "--json"))
        #expect(exported["url"] as? String == served.url && exported["file"] as? String == file)
        #expect(FileManager.default.fileExists(atPath: file))
    }

    @Test("A service without a key any more is reported as locked")
    func lock() async throws {
        let served = try await ServedLab()
        let service = try await served.serve()
        #expect(try object(try await served.keyless("keys", "lock", "--json"))["locked"] as? Bool == true)
        _ = service
    }
}
