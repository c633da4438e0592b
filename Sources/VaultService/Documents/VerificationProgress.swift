package import MediaVault

/// How far a check of the vault is.
package struct VerificationProgress: Codable, Sendable {
    package let bytesOpened: Int64
    package let bytesTotal: Int64
    package let segments: Int
    package let segmentsTotal: Int
    package let damage: Int

    package init(_ progress: VerifyProgress) {
        bytesOpened = progress.bytesOpened
        bytesTotal = progress.bytesTotal
        segments = progress.segments
        segmentsTotal = progress.segmentsTotal
        damage = progress.damage
    }
}
