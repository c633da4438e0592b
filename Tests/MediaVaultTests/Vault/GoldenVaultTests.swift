import CSodium
import Foundation
import Testing
import VaultModel
import VaultStorage
import VaultTestSupport

@testable import MediaVault

/// A small, complete vault written by an independent implementation, opened byte for byte.
@Suite("Golden vault")
struct GoldenVaultTests {
    private struct Expected: Decodable {
        let resources: [Resource]
        let records: [Record]?

        struct Record: Decodable { let table: String }

        struct Resource: Decodable {
            let name: String
            let url: String
            let contentID: String?
            let identity: String?
            let representations: [Representation]
            let serving: String?
        }

        struct Representation: Decodable {
            let id: String
            let length: Int64?
            let type: String?
            let etag: String?
            let held: [Held]
        }

        struct Held: Decodable {
            let first: Int64
            let end: Int64
            let sha256: String
        }
    }

    /// The folder of a golden vault of version 1 or 6.
    private func folder(_ version: Int) -> String {
        Bundle.module.bundlePath + (version == 1 ? "/GoldenVault" : "/GoldenVault\(version)")
    }

    /// Returns a copy that can be opened: git keeps neither modes nor empty folders.
    private func copy(_ version: Int = 1) throws -> TemporaryFolder {
        let folder = folder(version)
        let copy = try TemporaryFolder()
        let files = FileManager.default
        for name in ["vault", "keyring.json", "key", "passphrase"] {
            try files.copyItem(atPath: "\(folder)/\(name)", toPath: "\(copy.path)/\(name)")
        }
        for name in ["key", "passphrase"] {
            try files.setAttributes([.posixPermissions: 0o600], ofItemAtPath: "\(copy.path)/\(name)")
        }
        for byte in 0..<256 {
            let segments = "\(copy.path)/vault/segments/" + String(byte + 256, radix: 16).dropFirst()
            try files.createDirectory(atPath: segments, withIntermediateDirectories: true)
        }
        return copy
    }

    private func expected(_ version: Int = 1) throws -> Expected {
        let data = try Data(contentsOf: URL(filePath: folder(version) + "/expected.json"))
        return try JSONDecoder().decode(Expected.self, from: data)
    }

    @Test(
        "A vault written by another implementation opens byte for byte, by key and by passphrase",
        arguments: ["key", "passphrase"], [VaultOptions.Access.reader, .owner])
    func opens(with secret: String, access: VaultOptions.Access) async throws {
        let copy = try copy()
        let place = VaultPlace(folder: copy.path + "/vault", keyring: copy.path + "/keyring.json")
        let path = "\(copy.path)/\(secret)"
        let unlock: Unlock = secret == "key" ? .keyFile(path: path) : .passphraseFile(path: path)
        let vault = try await Vault.open(place, unlock: unlock, options: VaultOptions(access: access, mode: .offline))
        var checked = 0
        // Skips resources with a content id or a principal, which a plain URL does not name.
        for resource in try expected().resources where resource.contentID == nil && resource.identity == nil {
            let url = try MediaURL(resource.url)
            let summary = try #require(try await vault.titles.summary(of: url), "\(resource.name)")
            let serving = try #require(resource.representations.first { $0.id == resource.serving })
            #expect(summary.held == serving.held.map { $0.first..<$0.end }, "\(resource.name)")
            #expect(summary.size == serving.length && summary.type == serving.type && summary.etag == serving.etag)
            for held in serving.held {
                let bytes = try await read(vault, url, held.first..<held.end)
                #expect(sha256(bytes) == held.sha256, "\(resource.name)")
                checked += 1
            }
        }
        #expect(checked >= 5, "premise: some ranges were opened")
        var listed = 0
        for try await _ in vault.titles.resources() { listed += 1 }
        #expect(listed == (try expected().resources.count))
        await vault.close()
    }

    @Test(
        "Records of every kind that another implementation sealed under two generations open",
        arguments: [VaultOptions.Access.reader, .owner])
    func records(access: VaultOptions.Access) async throws {
        let copy = try copy(6)
        let vault = try await Vault.open(
            VaultPlace(folder: copy.path + "/vault", keyring: copy.path + "/keyring.json"),
            unlock: .keyFile(path: copy.path + "/key"), options: VaultOptions(access: access, mode: .offline))
        let records = try #require(try expected(6).records)
        func count(_ table: String) -> Int { records.count { $0.table == table } }
        let (store, index) = (vault.store, vault.store.index)
        #expect(try VerificationRows(index).unreadableRecords().isEmpty)
        #expect(try index.settings().bytesFetched == 1000)
        _ = try index.settings().networkSettings()
        let viewers = try store.viewers.all()
        let downloads = try store.downloads.all().downloads
        let subscriptions = try store.subscriptions.all().subscriptions
        let found = [
            "accessGrant": try store.grants.all().grants.count, "download": downloads.count,
            "subscription": subscriptions.count, "viewer": viewers.viewers.count, "share": viewers.shares.count,
            "position": viewers.positions.count,
        ]
        for (table, number) in found { #expect(number > 0 && number == count(table), "\(table)") }
        await vault.close()
    }

    private func sha256(_ bytes: [UInt8]) -> String {
        var digest = [UInt8](repeating: 0, count: Int(crypto_hash_sha256_BYTES))
        _ = unsafe crypto_hash_sha256(&digest, bytes, UInt64(bytes.count))
        return Hex.encode(digest)
    }

    private func read(_ vault: Vault, _ url: MediaURL, _ range: ByteRange) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        for try await chunk in try await vault.read(
            url, range: .closed(first: range.lowerBound, last: range.upperBound - 1))
        {
            bytes += chunk
        }
        return bytes
    }
}
