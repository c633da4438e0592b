import MediaVault

/// What is asked of `POST /api/v1/verifications`.
struct VerificationOrder: Codable, Sendable {
    let repair: Bool?
    /// Percent.
    let sample: Double?
    /// Bytes in a second.
    let limitRate: Int64?

    init(_ options: VerifyOptions) {
        repair = options.repairs
        sample = options.sample
        limitRate = options.bytesPerSecond
    }

    var options: VerifyOptions {
        VerifyOptions(repairs: repair ?? false, sample: sample, bytesPerSecond: limitRate)
    }
}
