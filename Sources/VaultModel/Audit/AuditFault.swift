/// Something that is wrong with an audit log.
public struct AuditFault: Hashable, Codable, Sendable {
    /// What is wrong.
    public enum Kind: String, Codable, CaseIterable, Sendable {
        /// The line is no receipt.
        case unreadable
        /// The line was changed: its signature is not of its content.
        case signature
        /// The line is another vault's, or was signed with another key.
        case stranger
        /// Lines before it are missing, or it stands in another's place.
        case sequence
        /// The line before it is not the one that it was written after.
        case chain
        /// The keyring knows of receipts behind the last line: they were cut off.
        case cut
    }

    /// The line, from 1; for ``Kind/cut`` the first one that is missing.
    public let line: Int
    /// What is wrong.
    public let kind: Kind

    /// A fault of a line.
    package init(line: Int, kind: Kind) {
        self.line = line
        self.kind = kind
    }
}
