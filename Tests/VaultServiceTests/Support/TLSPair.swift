import Foundation
import Testing
import VaultService

/// A self-signed certificate and its key, in a folder that is removed with the last reference.
final class TLSPair {
    let folder: URL

    var files: TLSFiles { TLSFiles(certificate: path("certificate"), key: path("key")) }

    init() throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "vault-tls-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/openssl")
        process.arguments = [
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
            "-subj",
            "/CN=localhost", "-keyout", path("key"), "-out", path("certificate"),
        ]
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        try #require(process.terminationStatus == 0)
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    /// Replaces the files with copies of another pair's, as a renewal does.
    func replace(_ names: [String] = ["certificate", "key"], by other: TLSPair) throws {
        for name in names {
            try FileManager.default.copyItem(atPath: other.path(name), toPath: path(name + ".new"))
            try #require(unsafe rename(path(name + ".new"), path(name)) == 0)
        }
    }

    private func path(_ name: String) -> String { folder.appending(path: name + ".pem").path }
}
