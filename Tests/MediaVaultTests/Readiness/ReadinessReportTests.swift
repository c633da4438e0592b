import Testing
import VaultModel

@testable import MediaVault

@Suite("The verdict about readiness")
struct ReadinessReportTests {
    private static let now: Int64 = 1_800_000_000
    private static let day: Int64 = 86_400

    /// A vault in which nothing is missing.
    private static var sound: WholeFacts {
        WholeFacts(
            verification: WholeFacts.Verification(time: now - day, isSound: true), freeBytes: 10, minFree: 10)
    }

    private static func causes(
        _ titles: [TitleFacts], in whole: WholeFacts = sound, _ options: ReadinessOptions = ReadinessOptions()
    ) -> [ReadinessCause] {
        let report = report(titles, in: whole, options)
        return report.findings.map(\.cause) + report.unready.flatMap(\.findings).map(\.cause)
    }

    private static func report(
        _ titles: [TitleFacts], in whole: WholeFacts = sound, _ options: ReadinessOptions = ReadinessOptions()
    ) -> ReadinessReport {
        var tally = ReadinessTally()
        for title in titles { tally.add(title) }
        return tally.report(whole, options, now: now)
    }

    @Test("A whole title that opens, in a vault that was verified lately, is ready")
    func ready() {
        let report = Self.report([TitleFacts(url: "http://a.example/b", bytes: 7)])
        #expect(report.isReady && report.findings.isEmpty && report.unready.isEmpty)
        #expect(report.titles == 1 && report.bytes == 7 && report.unreadyTitles == 0)
        #expect(report.checked == Timestamp(seconds: Self.now) && report.until == nil)
    }

    @Test("A vault in which no title was checked is not ready", arguments: [false, true])
    func nothing(hasDownloads: Bool) {
        let report = Self.report([], in: Self.sound, ReadinessOptions(hasDownloads: hasDownloads))
        #expect(!report.isReady && report.findings.map(\.cause) == [.nothingChecked])
        #expect(report.findings[0].message.contains("downloaded") == hasDownloads)
    }

    @Test(
        "Whatever is missing of a title is named by its cause",
        arguments: [
            (TitleFacts(holding: .partial(count: 1_200_000, isLoss: false)), ReadinessCause.incomplete, "1.2 MB"),
            (TitleFacts(holding: .partial(count: nil, isLoss: false)), .incomplete, "a part of it"),
            (TitleFacts(holding: .partial(count: 5, isLoss: true)), .damaged, "5 B was lost"),
            (TitleFacts(holding: .onlyPlayed), .incomplete, "never fetched as a title"),
            (TitleFacts(opening: TitleFacts.Opening(missingFiles: 2)), .damaged, "2 files are"),
            (TitleFacts(opening: TitleFacts.Opening(unopened: 1)), .unopened, "does not open"),
            (TitleFacts(opening: TitleFacts.Opening(unreadable: 1)), .unreadable, "1 file is"),
            (TitleFacts(queued: .waiting), .queued, "waits"), (TitleFacts(queued: .running), .queued, "wait until"),
            (TitleFacts(queued: .paused), .queued, "paused"), (TitleFacts(queued: .failed), .queued, "failed"),
            (TitleFacts(isEvictable: true), .evictable, "pin it"),
        ])
    func title(facts: TitleFacts, cause: ReadinessCause, words: String) throws {
        let report = Self.report([TitleFacts(), facts])
        #expect(!report.isReady && report.findings.isEmpty && report.titles == 2 && report.unreadyTitles == 1)
        let finding = try #require(report.unready.first?.findings.first)
        #expect(report.unready.count == 1 && report.unready[0].findings.count == 1)
        #expect(finding.cause == cause && finding.message.contains(words), "\(finding.message)")
    }

    @Test("A title whose download has ended is not named for it", arguments: [DownloadSnapshot.State.done, .ended])
    func left(state: DownloadSnapshot.State) {
        #expect(Self.report([TitleFacts(queued: state)]).isReady)
    }

    @Test(
        "A verification counts for as long as is asked, and not if it left damage or its time is in doubt",
        arguments: [
            (now - 30 * day, true, nil), (now - 30 * day - 1, true, ReadinessCause.unverified),
            (now, false, .damageLeft), (now + 60, true, nil), (now + 61, true, .unverified),
            (.min, true, .unverified), (nil, true, .unverified),
        ] as [(Int64?, Bool, ReadinessCause?)])
    func verification(time: Int64?, isSound: Bool, cause: ReadinessCause?) {
        var whole = Self.sound
        whole.verification = time.map { WholeFacts.Verification(time: $0, isSound: isSound) }
        #expect(Self.causes([TitleFacts()], in: whole) == [cause].compactMap(\.self))
    }

    @Test("Less free space than the limits leave free is named, and unknown space is not")
    func disk() {
        var whole = Self.sound
        whole.freeBytes = 9
        #expect(Self.causes([TitleFacts()], in: whole) == [.diskFull])
        whole.freeBytes = nil
        #expect(Self.causes([TitleFacts()], in: whole).isEmpty)
    }

    @Test("An unfinished key operation is named")
    func keys() {
        var whole = Self.sound
        whole.keyOperation = .reseal
        #expect(Self.causes([TitleFacts()], in: whole) == [.keyOperation])
    }

    @Test(
        "Access of players that ends before the day is named: not what ends later, has ended, or plays nothing",
        arguments: [
            (AccessGrant.Kind.token(.play), now + day, true), (.token(.admin), now + day, true),
            (.token(.read), now + day, false), (.token(.play), now + 3 * day, false), (.token(.play), nil, false),
            (.token(.play), now, false),
            (.links(AccessGrant.LinkedResources(url: "http://a.example/b", count: 1)), now + 2 * day, true),
            (.links(AccessGrant.LinkedResources(url: "http://a.example/b", count: 1)), now + 2 * day + 1, false),
        ] as [(AccessGrant.Kind, Int64?, Bool)])
    func access(kind: AccessGrant.Kind, expires: Int64?, isNamed: Bool) throws {
        let grant = AccessGrant(
            id: try #require(GrantID(hex: String(repeating: "0a", count: 16))), kind: kind, name: "tv", created: 0,
            expires: expires, era: [])
        var whole = Self.sound
        whole.access = [grant].filter(\.isForPlayers)
        let options = ReadinessOptions(until: Timestamp(seconds: Self.now + 2 * Self.day))
        let report = Self.report([TitleFacts()], in: whole, options)
        #expect(report.findings.map(\.cause) == (isNamed ? [.accessEnds] : []))
        #expect(report.findings.allSatisfy { $0.message.contains("\"tv\"") })
        let remedy = kind.family == .tokens ? "create a token that lasts longer" : "create links that last longer"
        #expect(report.findings.allSatisfy { $0.message.hasSuffix("before the day that you named; \(remedy)") })
        // Without a day, only the present counts.
        #expect(Self.report([TitleFacts()], in: whole).isReady)
    }

    @Test("A report names a thousand titles at most, and counts all")
    func bounds() {
        let report = Self.report(Array(repeating: TitleFacts(holding: .onlyPlayed), count: 1001))
        #expect(report.unready.count == 1000 && report.unreadyTitles == 1001 && report.titles == 1001)
    }

    @Test("The segments of a title that are opened are few, and the first and the last are among them")
    func sample() {
        for count in 0...100 {
            let places = ReadinessInspection.sample(of: count)
            #expect(places.count == min(count, ReadinessInspection.maxOpened) && Set(places).count == places.count)
            #expect(places.first == (count > 0 ? 0 : nil) && places.last == (count > 0 ? count - 1 : nil))
        }
    }

    @Test("A verification must be asked to be at least a second old", arguments: [0, -1, Int64.max])
    func options(age: Int64) {
        #expect(throws: VaultError.self) { try ReadinessOptions(verifiedWithin: age).check() }
    }
}
