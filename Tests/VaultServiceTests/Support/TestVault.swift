import Foundation
import MediaVault

/// A vault in its own folder, which is removed with the last reference.
final class TestVault: Sendable {
    let place: VaultPlace
    private let folder: URL
    private let unlock: Unlock

    /// - Parameter name: The folder's name.
    init(folder name: String = "vault") async throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "vault-service-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        place = VaultPlace(
            folder: folder.appending(path: name).path, keyring: folder.appending(path: "keyring.json").path)
        unlock = .keyFile(path: folder.appending(path: "key").path, allowLoose: false)
        _ = try await Vault.initialize(place, unlock: unlock)
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    /// Unlocks the vault's keyring beside the vault's owner.
    func orders() async throws -> KeyringOrderIssuer {
        try await KeyringOrderIssuer.open(keyring: place.keyring, unlock: unlock)
    }

    func open(
        isOffline: Bool = false, limits: StorageLimits? = nil, access: VaultOptions.Access = .owner
    ) async throws -> Vault {
        var options = VaultOptions(access: access)
        options.limits = limits
        // A busy machine does not reach these before the origin has answered.
        options.retry.moment = .seconds(30)
        options.retry.revalidationTimeLimit = .seconds(30)
        options.retry.staleTimeLimit = .seconds(30)
        options.retry.headTimeLimit = .seconds(30)
        options.retry.probeTimeLimit = .seconds(30)
        options.mode = isOffline ? .offline : nil
        return try await Vault.open(place, unlock: unlock, options: options)
    }
}
