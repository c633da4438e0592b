import Testing
import VaultModel
import VaultTestSupport

@testable import VaultStorage

@Suite("Members of the settings that name programs")
struct ProgramMembersTests {
    @Test("Programs are read as they were written, and have no member if there is none")
    func roundTrip() throws {
        var settings = VaultSettings()
        let programs = ProgramSettings(
            notify: try ProgramInvocation(["/bin/notify", "a b"]), refresh: try ProgramInvocation(["/bin/refresh"]))
        settings.setPrograms(programs)
        #expect(try #require(VaultSettings(settings.object)).programs == programs)
        settings.setPrograms(ProgramSettings())
        #expect(settings.members.members.isEmpty && settings.programs == ProgramSettings())
    }

    @Test("A rebuilt index names the same programs")
    func rebuilt() throws {
        let vault = try TemporaryVault()
        let programs = ProgramSettings(
            notify: try ProgramInvocation(["/bin/notify", "a b"]), refresh: try ProgramInvocation(["/bin/refresh"]))
        let store = try vault.open()
        try store.changeSettings { $0.setPrograms(programs) }
        try store.close()
        try TemporaryFolder.remove(vault.folder + "/index.sqlite")
        let rebuild = try IndexRebuild(at: vault.folder, keyring: vault.keyring, evenIfSound: false)
        for byte in IndexRebuild.bytes { try rebuild.adopt(byte) }
        _ = try rebuild.finish()
        let again = try vault.open()
        #expect(try again.index.settings().programs == programs)
        try again.close()
    }

    @Test(
        "A member that no writer writes names no program",
        arguments: [
            JSONValue.string("/bin/sh"), .array([]), .array([.string("sh")]),
            .array([.string("/bin/sh"), .integer(1)]),
            .null, .bool(true),
            .array(Array(repeating: .string("/bin/sh"), count: ProgramInvocation.maxWords + 1)),
        ])
    func unreadable(value: JSONValue) {
        var settings = VaultSettings()
        for name in ["notifyCommand", "refreshCommand"] { settings.members[name] = value }
        #expect(settings.programs == ProgramSettings())
    }
}
