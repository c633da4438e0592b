import Foundation
import Testing

@testable import VaultCommand

/// What the system passes to the command names what it says, or is refused.
@Suite struct ProcessInputTests {
    private static let strange: [UInt8] = Array("M".utf8) + [0xFC] + Array("sik".utf8)

    @Test("An argument that is not UTF-8 is refused by its number, and others are text")
    func arguments() throws {
        #expect(try ProcessInput.texts(of: ["import", "café"].map { Array($0.utf8) }) == ["import", "café"])
        let error = #expect(throws: UsageError.self) {
            try ProcessInput.texts(of: [Array("import".utf8), Self.strange])
        }
        #expect(error?.message.hasPrefix("argument 2 is not UTF-8") == true)
    }

    @Test(
        "A variable that is not UTF-8 is refused if it names a file or folder of ours",
        arguments: [
            ("MEDIAVAULT_DIR", true), ("XDG_DATA_HOME", true), ("HOME", true), ("OLDPWD", false),
        ])
    func variables(_ name: String, _ isRefused: Bool) throws {
        let variable = Array("\(name)=/".utf8) + Self.strange
        if isRefused {
            let error = #expect(throws: UsageError.self) { try ProcessInput.check([variable]) }
            #expect(error?.message.hasPrefix("\(name) is not UTF-8") == true)
        } else {
            try ProcessInput.check([variable])
        }
        try ProcessInput.check([Array("\(name)=/café".utf8)])
    }

    @Test("A relative path in a folder without a usable path is refused, and an absolute one is not")
    func relative() throws {
        let nowhere = ProcessEnvironment(variables: [:], workingDirectory: nil)
        #expect(try nowhere.absolute("/v") == "/v")
        let error = #expect(throws: UsageError.self) { try nowhere.absolute("v") }
        #expect(error?.message.contains("give an absolute path") == true)
    }

    @Test("The arguments and variables of this process are found without Foundation")
    func own() throws {
        #expect(try ProcessInput.arguments() == Array(ProcessInfo.processInfo.arguments.dropFirst()))
        #expect(ProcessEnvironment.current["PATH"] == ProcessInfo.processInfo.environment["PATH"])
    }

    @Test("A vault in a folder that is not UTF-8, and a relative one in a removed folder, are refused with exit code 2")
    func refusedPlaces() async throws {
        let lab = try CommandLab()
        let inside = try await lab.startShell(
            #"cd "$HOME" && d=$(printf 'M\374sik') && mkdir "$d" && MEDIAVAULT_DIR="$HOME/$d/v" "$mediavault" init"#
        ).result
        #expect(inside.status == 2 && inside.error?.contains("MEDIAVAULT_DIR is not UTF-8") == true, "\(inside.errors)")
        let removed = try await lab.startShell(
            #"mkdir "$HOME/gone" && cd "$HOME/gone" && rmdir ../gone && MEDIAVAULT_DIR=v "$mediavault" init"#
        ).result
        #expect(removed.status == 2 && removed.error?.contains("give an absolute path") == true, "\(removed.errors)")
        #expect(!FileManager.default.fileExists(atPath: "/v"))
    }

    @Test("Where /proc is not mounted, the command says so and does nothing", .enabled(if: canUnmountProc))
    func withoutProc() async throws {
        let lab = try CommandLab()
        let result = try await lab.startShell(
            #"exec unshare --mount sh -c 'umount -l /proc && exec "$0" no-such-command' "$mediavault""#
        ).result
        #expect(result.status == 1 && result.error?.contains("/proc is not mounted") == true, "\(result.errors)")
    }

    /// Whether this process may make a mount namespace of its own, as root may on most machines.
    private static let canUnmountProc: Bool = {
        let probe = Process()
        probe.executableURL = URL(filePath: "/usr/bin/env")
        probe.arguments = ["unshare", "--mount", "umount", "-l", "/proc"]
        (probe.standardOutput, probe.standardError) = (FileHandle.nullDevice, FileHandle.nullDevice)
        guard (try? probe.run()) != nil else { return false }
        probe.waitUntilExit()
        return probe.terminationStatus == 0
    }()
}
