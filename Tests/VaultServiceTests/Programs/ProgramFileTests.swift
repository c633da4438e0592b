import Foundation
import Testing

@testable import VaultService

@Suite("Which programs may be run")
struct ProgramFileTests {
    private static let user: UInt32 = 1000

    private static func file(
        _ kind: ProgramFile.Kind = .file, owner: UInt32 = 0, mode: UInt32 = 0o755, isExecutable: Bool = true
    ) -> ProgramFile {
        ProgramFile(kind: kind, owner: owner, mode: mode, isExecutable: isExecutable)
    }

    @Test(
        "A program of root or of the vault's user, which nobody else can write to, may be run",
        arguments: [
            (file(), [file(.folder)]), (file(owner: user, mode: 0o700), [file(.folder, owner: user)]),
            (file(), [file(.folder, mode: 0o1777)]), (file(mode: 0o4755), []),
        ])
    func allowed(program: ProgramFile, folders: [ProgramFile]) {
        #expect(ProgramFile.fault(of: program, in: folders, user: Self.user) == nil)
    }

    @Test(
        "What others could replace, or is no program, is not run, and the reason is told",
        arguments: [
            (nil, [], "no such file"), (file(.other), [], "regular file"), (file(.folder), [], "regular file"),
            (file(owner: 1001), [], "another user"), (file(mode: 0o775), [], "write"), (file(mode: 0o757), [], "write"),
            (file(isExecutable: false), [], "executable"), (file(), [file(.folder, mode: 0o777)], "folder"),
            (file(), [file(.folder, owner: 1001)], "folder"), (file(), [file(.folder, mode: 0o770)], "folder"),
            (file(), [file(.folder, owner: 1001, mode: 0o1777)], "folder"), (file(), [file(.other)], "folder"),
        ] as [(ProgramFile?, [ProgramFile], String)])
    func refused(program: ProgramFile?, folders: [ProgramFile], reason: String) throws {
        let fault = try #require(ProgramFile.fault(of: program, in: folders, user: Self.user))
        #expect(fault.contains(reason))
    }

    @Test(
        "A program is not run if it, or a folder above it, cannot be examined",
        arguments: ["/a/b/run", "/a/b", "/a", "/"])
    func unexamined(path: String) throws {
        func examine(_ path: String) -> ProgramFile? { path == "/a/b/run" ? Self.file() : Self.file(.folder) }
        #expect(try ProgramFile.trusted(at: "/a/b/run", examining: examine) == "/a/b/run")
        #expect(throws: ProgramFailure.self) {
            try ProgramFile.trusted(at: "/a/b/run") { $0 == path ? nil : examine($0) }
        }
    }

    @Test("On disk the same decides, and a link is replaced by the file that it leads to")
    func onDisk() throws {
        let folder = try ProgramFolder()
        let program = try folder.script("notify", "exit 0")
        let real = URL(filePath: program).resolvingSymlinksInPath().path
        #expect(try ProgramFile.trusted(at: program) == real)
        let link = folder.path + "/link"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: program)
        #expect(try ProgramFile.trusted(at: link) == real)
        try folder.setMode(0o722, of: program)
        #expect(throws: ProgramFailure.self) { try ProgramFile.trusted(at: link) }
        try folder.setMode(0o600, of: program)
        if geteuid() != 0 { #expect(throws: ProgramFailure.self) { try ProgramFile.trusted(at: program) } }
        try folder.setMode(0o700, of: program)
        try folder.setMode(0o777, of: folder.path)
        #expect(throws: ProgramFailure.self) { try ProgramFile.trusted(at: program) }
        #expect(throws: ProgramFailure.self) { try ProgramFile.trusted(at: folder.path + "/none") }
    }
}
