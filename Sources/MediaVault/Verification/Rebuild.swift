import VaultCrypto
import VaultModel
import VaultStorage

/// What ``Vault/rebuildIndex(_:unlock:evenIfSound:progress:)`` made an index of.
public struct RebuildReport: Hashable, Codable, Sendable {
    /// Resources that the catalog backup knew.
    public let resources: Int
    /// Segments that were taken in.
    public let segments: Int
    /// Plaintext bytes in them, bad blocks included.
    public let bytes: Int64
    /// Blocks among them that do not open: gaps, and damage until they are fetched anew.
    public let badBlocks: Int
    /// Segments that were cut where they ended in something that does not open.
    public let cut: Int
    /// Files that were moved to `quarantine/`: of no resource that the backup knew, damaged, or twice the same bytes.
    public let quarantined: Int
    /// Files that were left where they are, because they could not be read or the rows of their resource do not open.
    public let unknown: Int
    /// Segments of the index that was there that the backup does not know: they are among the quarantined. 0 where that
    /// index did not open.
    public let unknownToBackup: Int
    /// Whether the settings that the backup had did not open: they are those of a new vault now.
    public let areSettingsLost: Bool
}

extension Vault {
    /// Makes the index of a vault anew from `catalog.backup` and the segment files, for a vault whose `index.sqlite` is
    /// lost or damaged. What the backup does not know is moved to `quarantine/`; the old index stays beside the new one
    /// as `index.sqlite.damaged`.
    ///
    /// The new index takes the old one's place when it is whole. Cancelled before, it changes nothing but that.
    ///
    /// - Parameters:
    ///   - evenIfSound: whether to go on though nothing is wrong with the index that is there.
    ///   - progress: is told how much of all segments has been looked at, from 0 to 1.
    /// - Throws: ``VaultError`` with code `noVault` where there is no `catalog.backup`, `integrity` where it does not
    ///   open, `invalidArgument` where the index is sound, `owned`, and those of the keyring.
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
            try? await pool.run { rebuild.abandon() }
            throw error
        }
    }
}
