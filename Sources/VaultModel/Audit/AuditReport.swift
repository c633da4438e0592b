/// An audit log, read and checked.
public struct AuditReport: Hashable, Codable, Sendable {
    /// The receipts whose lines can be read, in the log's order. One with a fault is among them.
    public package(set) var receipts: [Receipt] = []
    /// What is wrong, in the order of lines.
    public package(set) var faults: [AuditFault] = []
    /// The vault's id in hex, as the first line has it; nil where there is none.
    public package(set) var vaultID: String?
    /// The public key in hex, as the first line has it; nil where there is none.
    public package(set) var publicKey: String?
    /// Whether key and number of receipts were compared with the keyring: without it, a log that was cut at its end, or
    /// made from nothing, looks sound.
    public package(set) var isAnchored = false

    /// Nothing yet.
    package init() {}

    /// Whether nothing is wrong.
    public var isSound: Bool { faults.isEmpty }
}
