import Foundation
import MediaVault
import VaultCrypto
import VaultModel
import VaultStorage
import VaultTestSupport

/// Rewraps the keys of very many resources, and counts the media bytes read and written meanwhile. Ends with 1 if a
/// bound is missed.
///
///     swift run -c release rewrap-keys [resources]
@main
struct RewrapKeys {
    /// One resource in this many holds a segment.
    private static let holding = 500
    private static let segmentBytes = 100_000

    static func main() async throws { exit(try await measured().areMet ? 0 : 1) }

    private static func measured() async throws -> BoundedFigures {
        let count = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 100_000
        let folder = FileManager.default.temporaryDirectory.path + "/rewrap-keys-\(getpid())"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let place = VaultPlace(folder: folder + "/vault", keyring: folder + "/keyring.json")
        let unlock = Unlock.keyFile(path: folder + "/key")
        _ = try await Vault.initialize(place, unlock: unlock)
        try fill(place.folder, keyring(place, folder), count)

        var figures = BoundedFigures()
        var options = VaultOptions(mode: .offline)
        let files = CountingFileSystem()
        options.fileSystem = files
        let vault = try await Vault.open(place, unlock: unlock, options: options)
        _ = try await vault.keys.rotate()
        let clock = ContinuousClock()
        let start = clock.now
        var report: RewrapReport?
        for try await step in vault.keys.rewrap() { report = step.report ?? report }
        let rewrapTime = (clock.now - start) / .seconds(1)
        let traffic = (files: files.traffic.filesOpened, bytes: files.traffic.bytesMoved)
        let retireTime = try await clock.measure { _ = try await vault.keys.retire(1) } / .seconds(1)
        precondition(report?.keys == count, "every key must be rewrapped")
        figures.tell("rewrap of \(count) resources", rewrapTime, atMost: 2, unit: " s")
        figures.tell("media files opened meanwhile", Double(traffic.files), atMost: 0)
        figures.tell("media bytes read and written meanwhile", Double(traffic.bytes), atMost: 0)
        print("retire after it: \(String(format: "%.2f", retireTime)) s")
        try await play(vault)
        precondition(files.traffic.bytesMoved >= segmentBytes, "media reads must be counted")
        await vault.close()
        try await list(place, folder, count, &figures)
        return figures
    }

    /// Reads the whole first title.
    private static func play(_ vault: Vault) async throws {
        var read = 0
        for try await chunk in try await vault.read(MediaReference(MediaURL("http://origin.example/0"))) {
            read += chunk.count
        }
        precondition(read == segmentBytes, "the segments must be held and open")
    }

    /// The cost of a key report while everything is still to be resealed.
    private static func list(
        _ place: VaultPlace, _ folder: String, _ count: Int, _ figures: inout BoundedFigures
    ) async throws {
        try order(place, keyring(place, folder))
        let unlock = Unlock.keyFile(path: folder + "/key")
        let reader = try await Vault.open(place, unlock: unlock, options: VaultOptions(access: .reader))
        let start = ContinuousClock.now
        let left = try await reader.keys.report().reseal?.resources
        let time = (ContinuousClock.now - start) / .seconds(1)
        await reader.close()
        precondition(left == count, "every resource must still need a reseal")
        figures.tell("keys list while a reseal of all is ordered", time, atMost: 1, unit: " s")
    }

    private static func keyring(_ place: VaultPlace, _ folder: String) throws -> Keyring {
        try KeyringReader.unlock(
            KeyringFile.read(place.keyring), with: .key(KeyFile.readKey(folder + "/key", allowLoose: false)))
    }

    /// Orders a reseal of everything, which never starts.
    private static func order(_ place: VaultPlace, _ keyring: Keyring) throws {
        let store = try VaultStore.open(at: place.folder, keyring: keyring, access: .owner)
        let log = AuditLog(of: store, at: KeyringPlace(place.keyring))
        _ = try SegmentReseal(store).order(of: nil, bytesPerSecond: nil, noting: log)
        try store.close()
    }

    /// Adds resources, some of which hold a segment each.
    private static func fill(_ folder: String, _ keyring: Keyring, _ count: Int) throws {
        let store = try VaultStore.open(at: folder, keyring: keyring, access: .owner)
        let segment = [UInt8](repeating: 0x5A, count: segmentBytes)
        for number in 0..<count {
            if number % holding == 0 {
                let title = try store.addMedia("\(number)", length: Int64(segmentBytes), resourceClass: .download)
                _ = try store.store(segment, at: 0, of: title)
                continue
            }
            let url = "http://origin.example/\(number)"
            guard let id = keyring.resourceID(cacheKey: Array(url.utf8), locator: store.index.locator) else { return }
            _ = try store.resources.add(id, url: url, cacheKey: Array(url.utf8), resourceClass: .download)
        }
        try store.close()
    }
}
