package import MediaVault

/// The result of a verification, as `/api/v1/verifications` and `verify --json` report it.
package struct VerifyDocument: Codable, Sendable {
    package struct Resource: Codable, Sendable {
        package let id: String
        package let url: OrNull<String>
        package let damage: [String: Int]
        /// The first byte, and one past the last, of each run that could not be opened.
        package let ranges: [[Int64]]
        package let repaired: Bool
        package let problem: OrNull<String>
    }

    package let sound: Bool
    package let bytesOpened: Int64
    package let segments: Int
    /// The count of every kind of damage; 0 if none was found.
    package let damage: [String: Int]
    package let remaining: Int
    package let unreadable: Int
    package let orphans: VerifyReport.Orphans
    package let bytesRefetched: Int64
    package let damagedResources: Int
    package let resources: [Resource]

    package init(_ report: VerifyReport) {
        sound = report.isSound
        bytesOpened = report.bytesOpened
        segments = report.segments
        damage = Self.named(report.damage, all: true)
        remaining = report.remaining
        unreadable = report.unreadable
        orphans = report.orphans
        bytesRefetched = report.bytesRefetched
        damagedResources = report.damagedResources
        resources = report.resources.map { resource in
            Resource(
                id: resource.id, url: OrNull(resource.url), damage: Self.named(resource.damage),
                ranges: resource.ranges.map { [$0.lowerBound, $0.upperBound] }, repaired: resource.isRepaired,
                problem: OrNull(resource.problem))
        }
    }

    private static func named(_ damage: [DamageClass: Int], all: Bool = false) -> [String: Int] {
        let classes = all ? DamageClass.allCases : Array(damage.keys)
        return Dictionary(uniqueKeysWithValues: classes.map { ($0.rawValue, damage[$0] ?? 0) })
    }

    /// The total number of findings.
    package var found: Int { damage.values.reduce(0, +) }
}

/// The body of `POST /api/v1/verifications`.
struct VerificationRequest: Codable, Sendable {
    let repair: Bool?
    /// The percentage of segments to check.
    let sample: Double?
    /// Bytes per second.
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

/// The progress of a verification.
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
