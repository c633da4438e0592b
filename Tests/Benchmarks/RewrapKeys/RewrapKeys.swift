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
        let keyring = try KeyringReader.unlock(
            KeyringFile.read(place.keyring), with: .key(KeyFile.readKey(folder + "/key", allowLoose: false)))
        try fill(place.folder, keyring, count)

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
