/// How far an export is.
public struct ExportProgress: Hashable, Codable, Sendable {
    /// Bytes written.
    public let written: Int64
    /// Bytes in all.
    public let total: Int64
}
