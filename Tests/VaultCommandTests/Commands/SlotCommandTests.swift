import Foundation
import Testing
import VaultTestSupport

/// The unlock methods of the keyring, by the command: with a running service and without one.
@Suite(.timeLimit(.minutes(5)))
struct SlotCommandTests {
    private let lab: SlotLab

    init() async throws { lab = try await SlotLab() }

    @Test("Slots are added, changed, listed and removed, through the service or without it", arguments: [true, false])
    func life(isServed: Bool) async throws {
        let service = try await lab.serve(isServed)
        let key = ["MEDIAVAULT_KEY_FILE": lab.path("key")]
        let second = ["MEDIAVAULT_KEY_FILE": lab.path("second")]
        let added = try await lab.run("keys", "slot", "add", "--label", "Anna", "--new-key-file", lab.path("second"))
        #expect(added.status == 0 && added.errors.count == 3, "\(added.errors)")
        #expect(added.errors.first?.hasSuffix("created the key file \(lab.path("second"))") == true)
        #expect(added.errors.last?.contains("on the same disk as the vault") == true)
        let twice = try await lab.run("keys", "slot", "add", "--new-key-file", lab.path("second"))
        #expect(twice.status == 2 && twice.error?.contains("this key opens slot 2 already") == true, "\(twice.errors)")
        #expect(try lab.folder.mode(of: "second") == 0o600)
        let changed = try await lab.run(
            "keys", "change-passphrase", "--new-passphrase-file", lab.path("new"), setting: second)
        #expect(changed.status == 0, "\(changed.errors)")
        #expect(changed.errors.contains { $0.contains("copied the keyring") })
        #expect(try await lab.opens(key))
        #expect(try await !lab.opens(second))
        #expect(try await lab.opens(["MEDIAVAULT_PASSPHRASE_FILE": lab.path("new")]))
        let listed = try await lab.listing()
        #expect(listed.slots.map(\.number) == [1, 2] && listed.slots.map(\.method) == ["key-file", "passphrase"])
        #expect(listed.slots.map(\.label) == ["first", "Anna"] && listed.revision == 3)
        #expect(listed.slots[1].memLimit == 256 << 20 && listed.slots[0].memLimit == nil)
        let table = try await lab.run("keys", "slot", "list").text
        #expect(table == "1  key-file    first\n2  passphrase  Anna (3 passes over 256 MiB)\n")
        let refused = try await lab.run("keys", "slot", "remove", "1")
        #expect(refused.status == 1 && refused.error?.contains("--force") == true, "\(refused.errors)")
        #expect(try await lab.opens(key))
        let removed = try await lab.run("keys", "slot", "remove", "1", "--force")
        #expect(removed.status == 0 && removed.errors.contains { $0.contains("root key") })
        #expect(try await !lab.opens(key))
        let last = try await lab.run(
            "keys", "slot", "remove", "2",
            setting: ["MEDIAVAULT_KEY_FILE": "", "MEDIAVAULT_PASSPHRASE_FILE": lab.path("new")])
        #expect(last.status == 2 && last.error?.contains("only way") == true)
        _ = service
    }

    @Test("A systemd credential opens the vault, by a given name and by its default name")
    func credential() async throws {
        try lab.folder.write([UInt8](repeating: 4, count: 32), to: "mediavault.key", mode: 0o440)
        let unit = ["CREDENTIALS_DIRECTORY": lab.folder.path]
        #expect(try await !lab.opens(unit))
        let added = try await lab.run("keys", "slot", "add", "--new-credential", "mediavault.key", setting: unit)
        #expect(added.status == 0, "\(added.errors)")
        #expect(try await lab.opens(unit))
        #expect(try await lab.opens(unit.merging(["MEDIAVAULT_CREDENTIAL": "mediavault.key"]) { $1 }))
        #expect(try await lab.listing().slots.map(\.method) == ["key-file", "credential"])
        let outside = try await lab.run("list", "--credential", "mediavault.key")
        #expect(outside.status == 2 && outside.error?.contains("CREDENTIALS_DIRECTORY") == true)
    }

    @Test("A running service opens the remaining slot with its own unit's credential, by name")
    func servedCredential() async throws {
        try lab.folder.write([UInt8](repeating: 4, count: 32), to: "mediavault.key", mode: 0o440)
        let unit = ["CREDENTIALS_DIRECTORY": lab.folder.path]
        let alone = unit.merging(["MEDIAVAULT_KEY_FILE": ""]) { $1 }
        let added = try await lab.run("keys", "slot", "add", "--new-credential", "mediavault.key", setting: unit)
        try #require(added.status == 0, "\(added.errors)")
        let service = try lab.start(["serve", "--listen", "127.0.0.1:0"], setting: alone)
        _ = try #require(await service.line { $0.contains("serving") })
        // An administrator's shell has no credentials: the service's slot stays, named with a file or alone.
        let both = try await lab.run("keys", "rotate", "--root", "--slot-credential", "mediavault.key")
        #expect(both.status == 0, "\(both.errors)")
        #expect(try await lab.listing().slots.count == 2)
        let root = ["keys", "rotate", "--root", "--drop-slots", "--credential"]
        let unknown = try await lab.start(root + ["another"]).result
        #expect(unknown.status == 3 && unknown.error?.contains("another") == true, "\(unknown.errors)")
        let rotated = try await lab.start(root + ["mediavault.key"]).result
        #expect(rotated.status == 0, "\(rotated.errors)")
        #expect(try await lab.listing().slots.map(\.method) == ["credential"])
        // From a unit whose credential folder differs from the service's.
        try FileManager.default.createDirectory(atPath: lab.path("unit"), withIntermediateDirectories: false)
        try lab.folder.write([UInt8](repeating: 4, count: 32), to: "unit/mediavault.key", mode: 0o440)
        let other = ["CREDENTIALS_DIRECTORY": lab.path("unit"), "MEDIAVAULT_KEY_FILE": ""]
        let changed = try await lab.run(
            "keys", "change-passphrase", "--revoke", "--new-credential", "mediavault.key", setting: other)
        #expect(changed.status == 0, "\(changed.errors)")
        service.signal(SIGTERM)
        #expect(await service.result.status == 0)
        #expect(try await lab.opens(alone))
        #expect(try await !lab.opens(["MEDIAVAULT_KEY_FILE": lab.path("key")]))
    }

    @Test("A sensitive passphrase needs 1 GiB of memory, for init too")
    func sensitive() async throws {
        let other = [
            "MEDIAVAULT_DIR": lab.path("v2"), "MEDIAVAULT_KEYRING": lab.path("k2.json"), "MEDIAVAULT_KEY_FILE": "",
        ]
        let made = try await lab.run("init", "--sensitive", "--passphrase-file", lab.path("old"), setting: other)
        #expect(made.status == 0, "\(made.errors)")
        let text = try await lab.run("keys", "slot", "list", setting: other).text
        #expect(text.contains("4 passes over 1024 MiB"))
    }

    @Test("A backup restores a lost keyring, and is refused while a service runs", arguments: [true, false])
    func backup(isServed: Bool) async throws {
        let service = try await lab.serve(isServed)
        let file = lab.path("backup.json")
        let made = try await lab.run("keys", "backup", file, "--backup-passphrase-file", lab.path("old"))
        #expect(made.status == 0, "\(made.errors)")
        #expect(try lab.folder.mode(of: "backup.json") == 0o600)
        #expect(try await lab.run("keys", "backup", file, "--backup-passphrase-file", lab.path("old")).status == 2)
        let restore = ["keys", "restore", file, "--new-key-file", lab.path("fresh"), "--backup-passphrase-file"]
        if let service {
            let refused = try await lab.start(restore + [lab.path("old")]).result
            #expect(refused.status == 1 && refused.error?.contains("process \(service.processIdentifier)") == true)
            service.signal(SIGTERM)
            #expect(await service.result.status == 0)
        }
        try FileManager.default.removeItem(atPath: lab.path("keyring.json"))
        #expect(try await lab.start(restore + [lab.path("new")]).result.status == 3)
        let restored = try await lab.start(restore + [lab.path("old")]).result
        #expect(restored.status == 0, "\(restored.errors)")
        #expect(try await lab.opens(["MEDIAVAULT_KEY_FILE": lab.path("fresh")]))
        #expect(try await lab.opens(["MEDIAVAULT_PASSPHRASE_FILE": lab.path("old")]))
        #expect(try await !lab.opens(["MEDIAVAULT_KEY_FILE": lab.path("key")]))
        #expect(
            restored.errors.contains { $0.contains("slot 1 (backup, passphrase) unlocks the keyring") },
            "\(restored.errors)")
        // A slot of the present keyring survives another restore, unless --drop-slots is given.
        let again = try await lab.start(["keys", "restore", file, "--backup-passphrase-file", lab.path("old")]).result
        #expect(
            again.status == 0
                && again.errors.contains { $0.contains("slot 2 (key-file, key-file) unlocks the keyring") })
        #expect(try await lab.opens(["MEDIAVAULT_KEY_FILE": lab.path("fresh")]))
        let alone = try await lab.start(
            ["keys", "restore", file, "--drop-slots", "--backup-passphrase-file", lab.path("old")]
        ).result
        #expect(alone.errors.contains { $0.contains("slot 2 (key-file, key-file) of the old keyring is gone") })
        #expect(try await !lab.opens(["MEDIAVAULT_KEY_FILE": lab.path("fresh")]))
    }

    @Test("An impossible slot command is refused with its exit code, and the keyring does not change")
    func refused() async throws {
        let before = FileManager.default.contents(atPath: lab.path("keyring.json"))
        try lab.folder.write([UInt8](repeating: 7, count: 31), to: "short")
        try lab.folder.write([UInt8](repeating: 7, count: 32), to: "loose", mode: 0o644)
        try lab.folder.write([UInt8](repeating: 7, count: 32), to: "wrong")
        let cases: [(Int32, [String])] = [
            (3, ["slot", "add", "--new-key-file", lab.path("short")]),
            (3, ["slot", "add", "--new-key-file", lab.path("loose")]),
            (2, ["slot", "add", "--new-key-file", lab.path("a"), "--new-passphrase-file", lab.path("new")]),
            (2, ["slot", "add", "--new-credential", "x"]), (2, ["slot", "add"]), (2, ["change-passphrase"]),
            (2, ["slot", "remove", "1"]), (6, ["slot", "remove", "7"]), (2, ["slot", "remove", "x"]),
            (6, ["change-passphrase", "--slot", "9", "--new-passphrase-file", lab.path("new")]),
            (3, ["slot", "remove", "1", "--key-file", lab.path("wrong")]),
            (2, ["slot", "add", "--label", "a\u{7}", "--new-passphrase-file", lab.path("new")]),
            (2, ["backup", lab.path("b")]),
            (1, ["restore", lab.path("nowhere"), "--backup-passphrase-file", lab.path("old")]),
        ]
        for (status, arguments) in cases {
            let result = try await lab.start(["keys"] + arguments).result
            #expect(result.status == status && !result.errors.isEmpty, "\(arguments): \(result.errors)")
            #expect(FileManager.default.contents(atPath: lab.path("keyring.json")) == before, "\(arguments)")
        }
    }
}
