import Foundation

#if canImport(Glibc)
import Glibc
#endif

/// A folder for scripts that a test runs, which is removed with the last reference.
final class ProgramFolder: Sendable {
    let path: String

    init() throws {
        BrokenPipes.ignore()
        path = FileManager.default.temporaryDirectory.appending(path: "vault-programs-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// Writes a script of the shell; returns its path.
    func script(_ name: String, _ text: String) throws -> String {
        let file = path + "/" + name
        try Data("#!/bin/sh\n\(text)\n".utf8).write(to: URL(filePath: file))
        try setMode(0o700, of: file)
        return file
    }

    func setMode(_ mode: Int, of file: String) throws {
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file)
    }

    /// The lines of a file; empty if there is none.
    func lines(_ name: String) -> [String] {
        guard let text = try? String(contentsOfFile: path + "/" + name, encoding: .utf8) else { return [] }
        return text.split(separator: "\n").map(String.init)
    }
}

/// What the command does when it starts, because a program need not read its input.
enum BrokenPipes {
    static func ignore() { _ = signal(SIGPIPE, SIG_IGN) }
}
