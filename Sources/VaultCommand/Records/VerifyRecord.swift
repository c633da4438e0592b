import MediaVault

/// What `verify --json` prints.
struct VerifyRecord: Encodable, Sendable {
    struct Resource: Encodable, Sendable {
        let id: String
        let url: OrNull<String>
        let damage: [String: Int]
        /// First byte and one past the last, of each run that could not be opened.
        let ranges: [[Int64]]
        let repaired: Bool
        let problem: OrNull<String>
    }

    let sound: Bool
    let bytesOpened: Int64
    let segments: Int
    /// Every kind, those that were not found with 0.
    let damage: [String: Int]
    let remaining: Int
    let unreadable: Int
    let orphans: VerifyReport.Orphans
    let bytesRefetched: Int64
    let damagedResources: Int
    let resources: [Resource]

    init(_ report: VerifyReport) {
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

    /// What a run exits with where not everything is sound.
    var status: ExitStatus? { sound ? nil : remaining > 0 ? .integrity : .failed }
}
