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
