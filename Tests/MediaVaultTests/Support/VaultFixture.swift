import Foundation
import MediaVault
import OriginTestSupport
import Testing
import VaultTestSupport

/// A vault in a temporary folder, with a key file beside it, and a scripted origin to fill it from.
///
/// The folder is removed with the fixture.
final class VaultFixture: Sendable {
    let place: VaultPlace
    let unlock: Unlock
    let origin: ScriptedOrigin
    let resource: ScriptedResource

    var media: PseudoRandomMedia { resource.media }
    var url: MediaURL { origin.url("/film.mp4") }
    private let folder: TemporaryFolder

    init(_ resource: ScriptedResource, in place: TemporaryFolder.Place = .memory) async throws {
        self.resource = resource
        origin = try ScriptedOrigin(resource)
        folder = try TemporaryFolder(in: place)
        self.place = VaultPlace(folder: folder.path + "/vault", keyring: folder.path + "/keys/keyring.json")
        unlock = .keyFile(path: folder.path + "/keys/key")
        _ = try await Vault.initialize(self.place, unlock: unlock)
    }

    /// Creates a fixture, opens its vault as the owner, and downloads the whole title.
    static func filled(_ resource: ScriptedResource) async throws -> (VaultFixture, Vault) {
        let fixture = try await VaultFixture(resource)
        let vault = try await fixture.open()
        for try await _ in vault.download(fixture.url) {}
        return (fixture, vault)
    }

    /// Opens the vault.
    func open(_ access: VaultOptions.Access = .owner, mode: VaultMode = .online) async throws -> Vault {
        var options = VaultOptions(access: access, mode: mode)
        options.retry = .unhurried
        return try await Vault.open(place, unlock: unlock, options: options)
    }

    /// Reads the whole resource of a reference; nil if a byte differs from the media.
    func bytes(_ vault: Vault, _ reference: MediaReference) async throws -> Int64? {
        var position: Int64 = 0
        for try await bytes in try await vault.read(reference) {
            guard media.matches(bytes, at: position) else { return nil }
            position += Int64(bytes.count)
        }
        return position
    }

    /// Reads a whole range and checks each of its bytes.
    func read(
        _ vault: Vault, _ range: RequestedRange = .whole, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> ByteRange {
        let reader = try await vault.read(url, range: range)
        var position = reader.range?.lowerBound ?? 0
        let first = position
        while let bytes = try await reader.next() {
            guard media.matches(bytes, at: position) else {
                Issue.record("wrong bytes at \(position)", sourceLocation: sourceLocation)
                break
            }
            position += Int64(bytes.count)
        }
        return first..<position
    }

    /// Returns the ranges that are held according to the index.
    func held(_ vault: Vault) async throws -> [ByteRange] { try await vault.titles.summary(of: url)?.held ?? [] }

    /// The segment files.
    var segmentFiles: [URL] {
        FileManager.default.enumerator(at: URL(filePath: place.folder + "/segments"), includingPropertiesForKeys: nil)?
            .compactMap { $0 as? URL }.filter { !$0.hasDirectoryPath } ?? []
    }

    /// The number of body bytes that the origin sent.
    var bytesSent: Int64 { origin.exchanges.reduce(0) { $0 + $1.bodyBytesSent } }

    /// The `Range` fields of the GET requests, in order.
    var ranges: [String] { origin.exchanges.filter { $0.request.method == "GET" }.map { $0.request.range ?? "none" } }
}

extension RetryPolicy {
    /// The product's policy with time limits that a busy machine does not reach before its origin has answered.
    ///
    /// A test of an origin that does not answer sets the limit under test.
    static var unhurried: RetryPolicy {
        var policy = RetryPolicy()
        policy.moment = .seconds(30)
        policy.revalidationTimeLimit = .seconds(30)
        policy.staleTimeLimit = .seconds(30)
        policy.headTimeLimit = .seconds(30)
        policy.probeTimeLimit = .seconds(30)
        return policy
    }
}

extension Vault {
    /// Waits until body bytes have arrived, because an origin has sent them earlier.
    func waitUntilFetched(_ count: Int64) async throws {
        while try await status().bytesFetched < count { try await Task.sleep(for: .milliseconds(5)) }
    }
}
