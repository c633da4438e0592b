import Foundation
import Testing

/// The direction of dependencies, read off the sources: SwiftPM checks our own targets, and nothing checks which of them
/// import third-party and C modules.
@Suite("Architecture")
struct ImportTests {
    /// What each target may import beside what stands above it.
    private static let allowed: [String: Set<String>] = [
        "VaultModel": ["Foundation", "Synchronization", "Glibc", "Musl", "Darwin"],
        "VaultManifest": ["VaultModel", "FoundationXML"],
        "VaultCrypto": ["VaultModel", "CSodium", "Foundation", "Synchronization"],
        "VaultStorage": [
            "VaultModel", "VaultCrypto", "CFile", "GRDB", "GRDBSQLite", "Foundation", "Synchronization", "Glibc",
            "Darwin",
        ],
        "VaultFetch": ["VaultModel", "CCurl", "Foundation", "Synchronization", "Glibc", "Darwin"],
        "MediaVault": [
            "VaultModel", "VaultManifest", "VaultCrypto", "VaultStorage", "VaultFetch", "DequeModule", "Dispatch",
            "Foundation", "Synchronization", "Glibc", "Musl", "Darwin",
        ],
        "VaultService": [
            "VaultModel", "MediaVault", "Hummingbird", "HummingbirdCore", "NIOCore", "NIOHTTP1",
            "NIOHTTPTypes", "NIOPosix", "NIOSSL", "HTTPTypes", "Logging", "CoreMetrics",
            "ServiceLifecycle", "UnixSignals", "Synchronization", "Foundation", "Glibc", "Musl", "Darwin",
        ],
        "VaultCommand": [
            "VaultModel", "MediaVault", "VaultService", "CProcess", "ArgumentParser", "Logging", "Synchronization",
            "Dispatch",
            "Foundation", "Glibc", "Darwin",
        ],
    ]

    @Test(
        "Each target imports only what stands above it, and each C library has one target",
        arguments: allowed.keys.sorted())
    func imports(target: String) throws {
        let files = try Sources.files(of: target)
        #expect(!files.isEmpty, "the target has sources, or this test proves nothing")
        let allowed = try #require(Self.allowed[target])
        for file in files {
            for module in try Self.imports(of: file) {
                #expect(allowed.contains(module), "\(target)/\(file.lastPathComponent) imports \(module)")
            }
        }
    }

    @Test("Every folder of Sources is a target that these rules know")
    func allTargetsAreKnown() throws {
        let folders = try FileManager.default.contentsOfDirectory(atPath: Sources.folder.path).filter {
            !$0.hasPrefix("C")
        }
        #expect(Set(folders) == Set(Self.allowed.keys))
    }

    @Test("Nothing imports FoundationNetworking, a second user of libcurl")
    func noSecondCurl() throws {
        for target in Self.allowed.keys {
            for file in try Sources.files(of: target) {
                #expect(try !Self.imports(of: file).contains("FoundationNetworking"))
            }
        }
    }

    /// The modules a file imports, submodules and single declarations by their module.
    private static func imports(of file: URL) throws -> [String] {
        let kinds: Set<Substring> = ["struct", "class", "enum", "func", "protocol", "typealias", "var", "let"]
        return try String(contentsOf: file, encoding: .utf8).split(separator: "\n").compactMap { line in
            let words = line.split(separator: " ")
            guard let index = words.firstIndex(of: "import"),
                words[..<index].allSatisfy({ $0.first == "@" || accessLevels.contains($0) })
            else { return nil }
            let rest = words[(index + 1)...].drop { kinds.contains($0) }
            return rest.first.map { String($0.prefix { $0 != "." }) }
        }
    }

    private static let accessLevels: Set<Substring> = ["public", "package", "internal", "private", "fileprivate"]
}
