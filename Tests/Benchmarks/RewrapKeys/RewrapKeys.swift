import Foundation
import MediaVault
import VaultCrypto
import VaultModel
import VaultStorage

/// Wrapping the keys of very many resources anew, and what of the media is read and written meanwhile.
///
///     swift run -c release rewrap-keys [resources]
@main
struct RewrapKeys {
    static func main() async throws {
        let count = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 100_000
        let folder = FileManager.default.temporaryDirectory.path + "/rewrap-keys-\(getpid())"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let place = VaultPlace(folder: folder + "/vault", keyring: folder + "/keyring.json")
        let unlock = Unlock.keyFile(path: folder + "/key")
        _ = try await Vault.initialize(place, unlock: unlock)
        try fill(place.folder, keyring(place, folder), count)

        var options = VaultOptions()
        let files = CountingFileSystem()
        options.fileSystem = files
        let vault = try await Vault.open(place, unlock: unlock, options: options)
        _ = try await vault.rotateKeys()
        let clock = ContinuousClock()
        let start = clock.now
        var report: RewrapReport?
        for try await step in vault.rewrapKeys() { report = step.report ?? report }
        let rewrapTime = (clock.now - start) / .seconds(1)
        let retireTime = try await clock.measure { _ = try await vault.retireGeneration(1) } / .seconds(1)
        await vault.close()
        precondition(report?.keys == count, "every key was wrapped anew")
        print("figure: rewrap of \(count) resources = \(String(format: "%.2f", rewrapTime)) s (<= 2 s for 100000)")
        print("figure: media files opened meanwhile = \(files.segmentsOpened) (= 0)")
        print("figure: retire after it = \(String(format: "%.2f", retireTime)) s")
        try order(place, keyring(place, folder))
        let reader = try await Vault.open(place, unlock: unlock, options: VaultOptions(access: .reader))
        let began = clock.now
        let left = try await reader.keyReport().reseal?.resources
        let listTime = (clock.now - began) / .seconds(1)
        await reader.close()
        precondition(left == count, "every resource is still to be sealed anew")
        print("figure: keys list while a reseal of all is ordered = \(String(format: "%.2f", listTime)) s (<= 1 s)")
    }

    private static func keyring(_ place: VaultPlace, _ folder: String) throws -> Keyring {
        try KeyringReader.unlock(
            KeyringFile.read(place.keyring), with: .key(KeyFile.readKey(folder + "/key", allowLoose: false)))
    }

    /// Orders a reseal of everything, which nobody begins.
    private static func order(_ place: VaultPlace, _ keyring: Keyring) throws {
        let store = try VaultStore.open(at: place.folder, keyring: keyring, access: .owner)
        let log = AuditLog(of: store, at: KeyringPlace(place.keyring))
        _ = try store.orderReseal(of: nil, bytesPerSecond: nil, noting: log)
        try store.close()
    }

    /// Adds resources that hold a segment each, as far as the index knows: their files are not needed here.
    private static func fill(_ folder: String, _ keyring: Keyring, _ count: Int) throws {
        let store = try VaultStore.open(at: folder, keyring: keyring, access: .owner)
        for number in 0..<count {
            let url = "http://origin.example/\(number)"
            guard let id = keyring.resourceID(cacheKey: Array(url.utf8), locator: store.index.locator) else { return }
            _ = try store.addResource(id, url: url, cacheKey: Array(url.utf8), resourceClass: .download)
        }
        try store.close()
    }
}
