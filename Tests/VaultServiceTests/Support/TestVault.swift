import Foundation
import MediaVault
import VaultModel
import VaultTestSupport

/// A vault in its own folder, which is removed with the last reference.
final class TestVault: Sendable {
    let place: VaultPlace
    let unlock: Unlock
    private let folder: TemporaryFolder

    /// - Parameter name: The folder's name.
    init(folder name: String = "vault", in place: TemporaryFolder.Place = .memory) async throws {
        folder = try TemporaryFolder(in: place)
        self.place = VaultPlace(folder: folder.path + "/" + name, keyring: folder.path + "/keyring.json")
        unlock = .keyFile(path: folder.path + "/key", allowLoose: false)
        _ = try await Vault.initialize(self.place, unlock: unlock)
    }

    /// Unlocks the vault's keyring beside the vault's owner.
    func orders() async throws -> KeyringOrderIssuer {
        try await KeyringOrderIssuer.open(keyring: place.keyring, unlock: unlock)
    }

    func open(
        isOffline: Bool = false, limits: StorageLimits? = nil, access: VaultOptions.Access = .owner,
        now: @escaping @Sendable () -> Int64 = WallClock.now
    ) async throws -> Vault {
        var options = VaultOptions(access: access)
        options.now = now
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
