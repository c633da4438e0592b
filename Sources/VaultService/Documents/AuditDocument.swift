package import MediaVault

/// The audit log, read and checked, as `/api/v1/audit` and `keys audit --json` tell it.
package struct AuditDocument: Codable, Sendable {
    package let sound: Bool
    /// Whether it was compared with the keyring.
    package let anchored: Bool
    package let vault: OrNull<String>
    /// The public key that signatures are checked with, in hex.
    package let key: OrNull<String>
    package let receipts: [Receipt]
    package let faults: [AuditFault]

    package init(_ report: AuditReport) {
        sound = report.isSound
        anchored = report.isAnchored
        vault = OrNull(report.vaultID)
        key = OrNull(report.publicKey)
        receipts = report.receipts
        faults = report.faults
    }
}
