import Foundation
import Testing

/// The direction of dependencies, read from the sources. SwiftPM checks the imports of our own targets, but not which
/// of them import third-party and C modules.
@Suite("Architecture")
struct ImportTests {
    /// The modules that each target may import.
    private static let allowed: [String: Set<String>] = [
        "VaultModel": ["CZlib", "Foundation", "Synchronization", "Glibc", "Musl", "Darwin"],
        "VaultManifest": ["VaultModel", "Foundation", "FoundationXML"],
        "VaultCrypto": ["VaultModel", "CSodium", "Foundation", "Synchronization"],
        "VaultStorage": [
            "VaultModel", "VaultCrypto", "CFile", "GRDB", "GRDBSQLite", "Foundation", "Synchronization", "Glibc",
            "Darwin",
        ],
        "VaultFetch": ["VaultModel", "CCurl", "Foundation", "Synchronization", "Glibc", "Darwin"],
        "VaultCache": [
            "VaultModel", "VaultManifest", "VaultCrypto", "VaultStorage", "VaultFetch", "DequeModule", "Dispatch",
            "Foundation", "Synchronization", "Glibc", "Musl", "Darwin",
        ],
        "MediaVault": [
            "VaultModel", "VaultManifest", "VaultCrypto", "VaultStorage", "VaultFetch", "VaultCache",
            "Foundation", "Synchronization", "Glibc", "Musl", "Darwin",
        ],
        "MediaVaultTesting": ["VaultModel", "OriginServer"],
        "OriginServer": ["VaultModel", "Foundation", "Synchronization", "Glibc", "Musl", "Darwin"],
        "VaultService": [
            "VaultModel", "MediaVault", "Hummingbird", "HummingbirdCore", "NIOCore", "NIOHTTP1",
            "NIOHTTPTypes", "NIOPosix", "NIOSSL", "HTTPTypes", "Logging", "CoreMetrics",
            "ServiceLifecycle", "UnixSignals", "Subprocess", "System", "SystemPackage", "Synchronization",
            "Foundation", "Glibc", "Musl", "Darwin",
        ],
        "VaultCommand": [
            "VaultModel", "MediaVault", "VaultService", "CProcess", "CRevision", "ArgumentParser", "Logging",
            "Synchronization",
            "Dispatch",
            "Foundation", "Glibc", "Darwin",
        ],
    ]

    @Test(
        "Each target imports only the targets above it, and each C library belongs to one target",
        arguments: allowed.keys.sorted())
    func imports(target: String) throws {
        let files = try Sources.files(of: target)
        #expect(!files.isEmpty, "a target without sources proves nothing")
        let allowed = try #require(Self.allowed[target])
        for file in files {
            for module in try Self.imports(of: file) {
                #expect(allowed.contains(module), "\(target)/\(file.lastPathComponent) imports \(module)")
            }
        }
    }

    @Test("These rules know every folder of Sources")
    func allTargetsAreKnown() throws {
        let folders = try FileManager.default.contentsOfDirectory(atPath: Sources.folder.path).filter {
            !$0.hasPrefix("C")
        }
        #expect(Set(folders) == Set(Self.allowed.keys))
    }

    @Test("No file imports FoundationNetworking, a second user of libcurl")
    func noSecondCurl() throws {
        for target in Self.allowed.keys {
            for file in try Sources.files(of: target) {
                #expect(try !Self.imports(of: file).contains("FoundationNetworking"))
            }
        }
    }

    /// The modules that a file imports; submodules and single declarations count as their module.
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
