/// The settings of a vault, as `/api/v1/settings` and `config get --json` tell them.
package struct SettingsDocument: Codable, Hashable, Sendable {
    /// Bytes; 0 is no limit.
    package var maxSize: Int64
    /// Seconds; 0 is for ever.
    package var maxAge: Int64
    /// Bytes; 0 is none.
    package var minFree: Int64
}
