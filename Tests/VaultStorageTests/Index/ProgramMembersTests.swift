import Testing
import VaultModel

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
