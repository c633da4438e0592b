package import MediaVault

/// What a check of the vault found, as `/api/v1/verifications` and `verify --json` tell it.
package struct VerifyDocument: Codable, Sendable {
    package struct Resource: Codable, Sendable {
        package let id: String
        package let url: OrNull<String>
        package let damage: [String: Int]
        /// First byte and one past the last, of each run that could not be opened.
        package let ranges: [[Int64]]
        package let repaired: Bool
        package let problem: OrNull<String>
    }

    package let sound: Bool
    package let bytesOpened: Int64
    package let segments: Int
    /// Every kind, those that were not found with 0.
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

    /// Pieces of damage that were found.
    package var found: Int { damage.values.reduce(0, +) }
}

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
