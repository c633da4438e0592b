import SeededRandom
import Testing
import VaultModel
import VaultStorage

@Suite("The eviction plan chooses segments and their order as a pure function")
struct EvictionPlanTests {
    private typealias Candidate = EvictionPlan.Candidate

    private static func resource(_ number: Int) -> ResourceID {
        known(ResourceID(bytes: Array(repeating: 0, count: 31) + [UInt8(number)]))
    }

    /// Unwraps a constant of the test.
    private static func known<Value>(_ value: Value?) -> Value {
        guard let value else { preconditionFailure("a test's constant is wrong") }
        return value
    }

    private static func segment(_ resource: Int, start: Int64, length: Int64) -> SegmentDescription {
        SegmentDescription(
            id: known(SegmentID(bytes: Array(repeating: UInt8(resource), count: 8) + bytes(start))),
            representation: known(RepresentationID(bytes: Array(repeating: UInt8(resource), count: 16))),
            keyNumber: 1, blockSize: 32_768, start: start, length: length)
    }

    private static func bytes(_ value: Int64) -> [UInt8] {
        (0..<8).map { UInt8(truncatingIfNeeded: value >> (Int64($0) * 8)) }
    }

    /// Returns a resource with segments of 1000 bytes each (4096 on disk) at 0, 1000, 2000 …
    private static func candidate(
        _ number: Int, _ resourceClass: ResourceClass = .cache, accessed: Int64 = 0, segments: Int = 1,
        parts: [Int] = []
    ) -> Candidate {
        Candidate(
            resource: resource(number), resourceClass: resourceClass, accessed: accessed,
            segments: (0..<segments).map { segment(number, start: Int64($0) * 1000, length: 1000) },
            parts: parts.map { TitlePart(resource($0), isOnlyHere: true) })
    }

    /// The evicted segments, as (resource, first byte of each segment).
    private static func shape(_ plan: EvictionPlan) -> [String] {
        plan.victims.map { victim in
            "\(victim.resource.bytes[31]):" + victim.segments.map { String($0.start) }.joined(separator: ",")
                + (victim.isWhole ? "." : "")
        }
    }

    @Test(
        "The plan evicts cache before downloads, never pinned titles, and equal ones by oldest hour, then by id",
        arguments: [
            (1, ["1:0."]), (4096, ["1:0."]), (4097, ["1:0.", "2:0."]), (3 * 4096, ["1:0.", "2:0.", "3:0."]),
            (100_000, ["1:0.", "2:0.", "3:0.", "4:0."]), (0, []),
        ] as [(Int64, [String])])
    func order(needed: Int64, expected: [String]) {
        let plan = EvictionPlan(
            freeing: needed,
            of: [
                Self.candidate(4, .download, accessed: 1), Self.candidate(5, .pinned, accessed: 0),
                Self.candidate(3, accessed: 7200), Self.candidate(2, accessed: 3600),
                Self.candidate(1, accessed: 3600),
            ], inUse: [])
        #expect(Self.shape(plan) == expected)
    }

    @Test(
        "The plan evicts the tail of a title first, and only as much as needed, so that playback starts at once",
        arguments: [
            (1, ["1:3000"]), (4096, ["1:3000"]), (4097, ["1:3000,2000"]), (16_384, ["1:3000,2000,1000,0."]),
            (16_385, ["1:3000,2000,1000,0.", "2:0."]),
        ] as [(Int64, [String])])
    func tails(needed: Int64, expected: [String]) {
        let plan = EvictionPlan(
            freeing: needed, of: [Self.candidate(2, accessed: 9), Self.candidate(1, segments: 4)], inUse: [])
        #expect(Self.shape(plan) == expected)
    }

    @Test("A title of several resources goes whole, however little is needed, and stays if one of them is in use")
    func wholes() {
        let candidates = [Self.candidate(1, segments: 4, parts: [7, 8]), Self.candidate(2, accessed: 9)]
        #expect(Self.shape(EvictionPlan(freeing: 1, of: candidates, inUse: [])) == ["1:3000,2000,1000,0."])
        #expect(Self.shape(EvictionPlan(freeing: 1, of: candidates, inUse: [Self.resource(8)])) == ["2:0."])
    }

    @Test("Titles in use stay, even if they are the oldest")
    func inUse() {
        let plan = EvictionPlan(
            freeing: 1, of: [Self.candidate(1), Self.candidate(2, accessed: 10)], inUse: [Self.resource(1)])
        #expect(Self.shape(plan) == ["2:0."])
    }

    @Test("On a full disk only cached titles are evicted")
    func classes() {
        let plan = EvictionPlan(
            freeing: 9999, of: [Self.candidate(1, .download), Self.candidate(2)], inUse: [], classes: [.cache])
        #expect(Self.shape(plan) == ["2:0."])
    }

    @Test("With an age limit of 90 days, cached titles are evicted after 90 days and not a second earlier")
    func age() {
        let (day, read) = (Int64(86_400), Int64(1_700_000_000))
        let candidates = [
            Self.candidate(1, accessed: read, segments: 2), Self.candidate(2, .download, accessed: read),
            Self.candidate(3, .pinned, accessed: read), Self.candidate(4, accessed: read, segments: 0),
            Self.candidate(5, accessed: read + 1),
        ]
        func plan(_ now: Int64) -> [String] {
            Self.shape(EvictionPlan(olderThan: 90 * day, now: now, of: candidates, inUse: []))
        }
        #expect(plan(read + 89 * day).isEmpty)
        #expect(plan(read + 90 * day - 1).isEmpty)
        #expect(plan(read + 90 * day) == ["1:1000,0.", "4:."])
        #expect(plan(read - 3650 * day).isEmpty, "a clock that is set back must not make titles old")
    }

    @Test("Any plan frees enough or all, no more than needed, in order, and nothing pinned or in use")
    func properties() {
        let seed = UInt64.random(in: 0 ..< .max)
        var random = SeededGenerator(seed: seed)
        for round in 0..<500 {
            let candidates = (0..<Int.random(in: 0...12, using: &random)).map { number in
                Candidate(
                    resource: Self.resource(number),
                    resourceClass: [ResourceClass.pinned, .download, .cache].randomElement(using: &random) ?? .cache,
                    accessed: Int64.random(in: 0...3, using: &random) * 3600,
                    segments: (0..<Int.random(in: 0...6, using: &random)).map {
                        Self.segment(
                            number, start: Int64($0) * 9_000_000,
                            length: Int64.random(in: 1...SegmentDescription.maxBytes, using: &random))
                    }.shuffled(using: &random))
            }
            let inUse = Set(candidates.map(\.resource).filter { _ in Bool.random(using: &random) && round % 2 == 0 })
            let needed = Int64.random(in: 0...60_000_000, using: &random)
            let plan = EvictionPlan(freeing: needed, of: candidates.shuffled(using: &random), inUse: inUse)
            let comment: Comment = "seed \(seed), round \(round)"

            let mayGo = candidates.filter { $0.resourceClass != .pinned && !inUse.contains($0.resource) }
            let going = plan.victims.flatMap(\.segments)
            #expect(plan.bytes == going.reduce(0) { $0 + $1.diskSize }, comment)
            #expect(plan.bytes >= min(needed, mayGo.reduce(0) { $0 + $1.bytes }), comment)
            #expect(going.last.map { plan.bytes - $0.diskSize < needed } ?? true, comment)
            #expect(Set(plan.victims.map(\.resource)).isSubset(of: Set(mayGo.map(\.resource))), comment)
            for victim in plan.victims {
                let all = mayGo.first { $0.resource == victim.resource }?.segments ?? []
                let kept = all.filter { !victim.segments.contains($0) }
                let firstGone = victim.segments.map(\.start).min() ?? .max
                #expect(kept.allSatisfy { $0.start < firstGone }, comment)
                #expect(victim.isWhole == kept.isEmpty, comment)
            }
            // Every title that stays complete comes after all evicted titles in the order.
            let gone = Set(plan.victims.filter { !$0.segments.isEmpty }.map(\.resource))
            func rank(_ candidate: Candidate) -> (Int, Int64, String) {
                (candidate.resourceClass == .cache ? 0 : 1, candidate.accessed, candidate.resource.hex)
            }
            let last = mayGo.filter { gone.contains($0.resource) }.map(rank).max { $0 < $1 }
            for candidate in mayGo where !gone.contains(candidate.resource) && !candidate.segments.isEmpty {
                #expect(last.map { $0 < rank(candidate) } ?? true, comment)
            }
        }
    }
}
