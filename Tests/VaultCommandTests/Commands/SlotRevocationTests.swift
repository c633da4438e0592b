import Foundation
import Testing
import VaultTestSupport

@testable import VaultCommand

/// Revoking an unlock method with `--revoke`, by the command: with a running service and without one.
@Suite(.timeLimit(.minutes(5)))
struct SlotRevocationTests {
    private let lab: SlotLab

    init() async throws { lab = try await SlotLab() }

    private func addSlots(_ names: String...) async throws {
        for name in names {
            try #require(try await lab.run("keys", "slot", "add", "--new-key-file", lab.path(name)).status == 0)
        }
    }

    @Test("With --revoke, a copied keyring no longer opens anything in the folder", arguments: [true, false])
    func revoked(isServed: Bool) async throws {
        let added = try await lab.run("keys", "slot", "add", "--new-key-file", lab.path("second"))
        try #require(added.status == 0)
        #expect(added.errors.contains { $0.contains("slot 2 added") }, "the number is needed to remove it")
        let copied = ["MEDIAVAULT_KEYRING": lab.path("copied.json")]
        try FileManager.default.copyItem(atPath: lab.path("keyring.json"), toPath: lab.path("copied.json"))
        let service = try await lab.serve(isServed)
        let removed = try await lab.run("keys", "slot", "remove", "2", "--revoke")
        #expect(removed.status == 0, "\(removed.errors)")
        #expect(removed.errors.contains { $0.contains("created a new root key") })
        #expect(removed.errors.contains { $0.contains("all playback links and tokens are void") })
        let changed = try await lab.run(
            "keys", "change-passphrase", "--revoke", "--new-passphrase-file", lab.path("new"))
        #expect(changed.status == 0, "\(changed.errors)")
        let new = ["MEDIAVAULT_KEY_FILE": "", "MEDIAVAULT_PASSPHRASE_FILE": lab.path("new")]
        let state = try await lab.run("keys", "list", "--json", setting: new).text
        #expect(state.contains(#""current":3"#) && state.components(separatedBy: #""state":"retired""#).count == 3)
        if let service {
            service.signal(SIGTERM)
            #expect(await service.result.status == 0)
        }
        #expect(try await lab.opens(new))
        for key in ["key", "second"] {
            #expect(try await !lab.opens(copied.merging(["MEDIAVAULT_KEY_FILE": lab.path(key)]) { $1 }), "\(key)")
        }
    }

    @Test(
        "A revocation that would lock out other keys, or is impossible, is refused before anything changes",
        arguments: [true, false])
    func refused(isServed: Bool) async throws {
        try await addSlots("second", "third")
        let phrased = try await lab.run("keys", "slot", "add", "--new-passphrase-file", lab.path("old"))
        try #require(phrased.status == 0)
        try lab.folder.write([UInt8](repeating: 7, count: 32), to: "stranger")
        let service = try await lab.serve(isServed)
        let before = try #require(lab.contents(of: "keyring.json"))
        let remove = ["slot", "remove", "3", "--revoke"]
        let change = ["change-passphrase", "--revoke", "--new-key-file", lab.path("fresh")]
        let both = ["--slot-key-file", lab.path("second"), "--slot-passphrase-file", lab.path("old")]
        let cases: [(Int32, String, [String])] = [
            (2, "opens the keyring here", ["slot", "remove", "1", "--revoke"]),
            (2, "require --revoke", ["slot", "remove", "3", "--drop-slots"]),
            (2, "2 (key-file, key-file), 4 (passphrase, passphrase)", remove),
            (2, "lock out slot 4 (passphrase, passphrase);", remove + both.prefix(2)),
            (2, "lock out slot 2 (key-file, key-file);", remove + both.suffix(2)),
            // A key that opened only the removed slot opens no remaining one.
            (3, "opens no slot", remove + both + ["--slot-key-file", lab.path("third")]),
            (3, "opens no slot", remove + ["--slot-key-file", lab.path("stranger"), "--drop-slots"]),
            (3, "nowhere", remove + ["--slot-key-file", lab.path("nowhere"), "--drop-slots"]),
            (2, "2 (key-file, key-file), 3 (key-file, key-file), 4 (passphrase", change),
            (2, "lock out slot 3 (key-file, key-file);", change + both),
            (3, "opens no slot", change + ["--slot-key-file", lab.path("key"), "--drop-slots"]),
            (6, "no slot 9", change + ["--slot", "9", "--drop-slots"]),
        ]
        for (status, words, arguments) in cases {
            let result = try await lab.start(["keys"] + arguments).result
            #expect(result.status == status, "\(arguments): \(result.errors)")
            #expect(result.errors.contains { $0.contains(words) }, "\(arguments): \(result.errors)")
            #expect(lab.contents(of: "keyring.json") == before && lab.contents(of: "fresh") == nil, "\(arguments)")
        }
        _ = service
    }

    @Test(
        "revoke-root that is refused states the cause first, then that nothing was changed", arguments: [true, false])
    func refusedAlone(isServed: Bool) async throws {
        try await addSlots("second")
        let service = try await lab.serve(isServed)
        let before = try #require(lab.contents(of: "keyring.json"))
        let result = try await lab.run("keys", "revoke-root")
        #expect(result.status == 2 && result.errors.count == 2, "\(result.errors)")
        #expect(result.errors.first?.contains("lock out slot 2 (") == true, "\(result.errors)")
        #expect(result.errors.last?.contains("the root key was not changed") == true, "\(result.errors)")
        #expect(lab.contents(of: "keyring.json") == before)
        _ = service
    }

    @Test("A key that the service could not learn is refused before the new key file is created")
    func unfound() async throws {
        try await addSlots("second")
        let service = try await lab.serve(true)
        let before = try #require(lab.contents(of: "keyring.json"))
        let result = try await lab.run(
            "keys", "change-passphrase", "--slot", "2", "--revoke", "--new-key-file", lab.path("fresh"),
            setting: ["MEDIAVAULT_KEY_FILE": "", "MEDIAVAULT_KEY_COMMAND": "cat \(lab.path("key"))"])
        #expect(result.status == 2 && result.error?.contains("reads them only from a key") == true, "\(result.errors)")
        #expect(lab.contents(of: "keyring.json") == before && lab.contents(of: "fresh") == nil)
        _ = service
    }

    @Test("Slots whose key is given stay if another slot changes its unlock method")
    func kept() async throws {
        try await addSlots("second")
        let kept = try await lab.run(
            "keys", "change-passphrase", "--revoke", "--new-key-file", lab.path("fresh"), "--slot-key-file",
            lab.path("second"))
        #expect(kept.status == 0, "\(kept.errors)")
        #expect(try await lab.opens(["MEDIAVAULT_KEY_FILE": lab.path("second")]))
        #expect(try await lab.opens(["MEDIAVAULT_KEY_FILE": lab.path("fresh")]))
        #expect(try await !lab.opens(["MEDIAVAULT_KEY_FILE": lab.path("key")]))
    }

    @Test("If only the service can refuse a revocation, the message states what is done and what remains")
    func brokenOff() async throws {
        try await addSlots("second", "third")
        let service = try await lab.serve(true)
        // Only its name is known here: it may be the credential of slot 3.
        let result = try await lab.run("keys", "slot", "remove", "2", "--revoke", "--slot-credential", "another")
        #expect(result.status == 2 || result.status == 3)
        #expect(result.errors.contains { $0.contains("slot 2 removed") }, "\(result.errors)")
        let remainder = RootRevocation.remainder(after: 0, isRefused: true)
        #expect(result.errors.contains { $0.hasSuffix(remainder) }, "\(result.errors)")
        #expect(try await lab.listing().slots.map(\.number) == [1, 3])
        _ = service
    }

    @Test("The message names the command for each remaining step of a revocation")
    func remainders() {
        let commands: [Set<String>] = [["keys revoke-root"], ["keys rewrap", "keys retire"], ["keys retire"]]
        for (done, named) in commands.enumerated() {
            let remainder = RootRevocation.remainder(after: done)
            #expect(Set(commands.joined()).filter { remainder.contains($0) } == named, "\(done)")
        }
    }
}
