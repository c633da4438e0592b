import VaultCrypto
import VaultModel
import VaultStorage

/// The result of ``Vault/rebuildIndex(_:unlock:evenIfSound:progress:)``.
public struct RebuildReport: Hashable, Codable, Sendable {
    /// Resources in the catalog backup.
    public let resources: Int
    /// Segments adopted.
    public let segments: Int
    /// Plaintext bytes in these segments, including bad blocks.
    public let bytes: Int64
    /// Blocks of these segments that do not open: gaps, and damage until they are fetched again.
    public let badBlocks: Int
    /// Segments that were cut off before an end that does not open.
    public let cut: Int
    /// Files that were moved to `quarantine/`: of a resource that the backup does not know, damaged, or with bytes that
    /// another segment holds.
    public let quarantined: Int
    /// Files left in place, because they could not be read or the rows of their resource do not open.
    public let unknown: Int
    /// Segments in the old index that the backup does not know; they are among the quarantined files. 0 if the old
    /// index did not open.
    public let unknownToBackup: Int
    /// Whether the settings in the backup did not open: they are those of a new vault now.
    public let areSettingsLost: Bool
}

extension Vault {
    /// Rebuilds the index of a vault from `catalog.backup` and the segment files, if `index.sqlite` is lost or damaged.
    ///
    /// Files that the backup does not know are moved to `quarantine/`; the old index stays beside the new one as
    /// `index.sqlite.damaged`. The new index replaces the old one when it is complete. If the rebuild is cancelled
    /// before, only files in `quarantine/` have changed.
    ///
    /// - Parameters:
    ///   - place: where the vault and its keyring are.
    ///   - unlock: unlocks the keyring.
    ///   - evenIfSound: whether to continue even if nothing is wrong with the existing index.
    ///   - progress: called with the share of segments processed, from 0 to 1.
    /// - Throws: ``VaultError`` with code `noVault` if there is no `catalog.backup`, `integrity` if it does not open,
    ///   `invalidArgument` if the index is sound, `owned`, and those of the keyring.
    public static func rebuildIndex(
        _ place: VaultPlace, unlock: Unlock, evenIfSound: Bool = false, progress: (Double) async -> Void = { _ in }
    ) async throws -> RebuildReport {
        let pool = BlockingPool.shared
        let rebuild = try await pool.run {
            let keyring = try KeyringReader.unlock(KeyringFile.read(place.keyring), with: unlock.secret())
            return try IndexRebuild(at: place.folder, keyring: keyring, evenIfSound: evenIfSound)
        }
        do {
            for byte in IndexRebuild.bytes {
                try Task.checkCancellation()
                await progress(Double(byte) / Double(IndexRebuild.bytes.count))
                try await pool.run { try rebuild.adopt(byte) }
            }
            let counts = try await pool.run { try rebuild.finish() }
            await progress(1)
            return RebuildReport(
                resources: counts.resources, segments: counts.segments, bytes: counts.bytes,
                badBlocks: counts.badBlocks, cut: counts.cut, quarantined: counts.quarantined, unknown: counts.unknown,
                unknownToBackup: counts.unknownToBackup, areSettingsLost: counts.areSettingsLost)
        } catch {
            try? await pool.run { rebuild.discard() }
            throw error
        }
    }
}
