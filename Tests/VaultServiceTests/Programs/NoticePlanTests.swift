import MediaVault
import Testing
import VaultModel

@testable import VaultService

@Suite("Which notices the operator gets")
struct NoticePlanTests {
    private static let ids = ["aaaaaaaa", "bbbbbbbb"].compactMap { TitleID($0) }

    private func notice(_ kind: OperatorNotice.Kind, _ id: TitleID? = nil, at time: Int64) -> OperatorNotice {
        OperatorNotice(kind, at: Timestamp(seconds: time), id: id, "it happened")
    }

    @Test("A notice is not repeated for a while; one of another kind or title is sent at once")
    func quiet() throws {
        #expect(Self.ids.count == 2)
        var plan = NoticePlan()
        let start: Int64 = 1_800_000_000
        #expect(plan.admit(notice(.damage, Self.ids[0], at: start)) != nil)
        #expect(plan.admit(notice(.damage, Self.ids[0], at: start + 1)) == nil)
        #expect(plan.admit(notice(.downloadFailed, Self.ids[0], at: start + 2)) != nil)
        #expect(plan.admit(notice(.damage, Self.ids[1], at: start + 3)) != nil)
        #expect(plan.admit(notice(.diskFull, at: start + 4)) != nil)
        #expect(plan.admit(notice(.damage, Self.ids[0], at: start + NoticePlan.quiet - 1)) == nil)
        #expect(plan.admit(notice(.damage, Self.ids[0], at: start + NoticePlan.quiet)) != nil)
    }

    @Test("That a title expires is told once before it goes")
    func expiring() {
        var plan = NoticePlan()
        let start: Int64 = 1_800_000_000
        #expect(plan.admit(notice(.titleExpiring, Self.ids[0], at: start)) != nil)
        for hour in 1...24 {
            #expect(plan.admit(notice(.titleExpiring, Self.ids[0], at: start + Int64(hour) * 3600)) == nil)
        }
    }

    @Test("That a feed fails is told once its runs have failed for a day, each feed for itself and once a week")
    func failingFeed() throws {
        let start: Int64 = 1_800_000_000
        let id = try #require(SubscriptionID(bytes: Array(repeating: 1, count: SubscriptionKind.byteCount)))
        var feed = MediaSubscription(id, .feed("http://a.example/f?token=hunter2"), .init(), added: start)
        let notice = { OperatorNotice(feed, at: Timestamp(seconds: $0)) }
        let failure = MediaSubscription.Failure(code: "refused", message: "a.example refused /f: HTTP 404")
        for hour in 0...3 { feed.note(failure, at: start + Int64(hour) * 3600) }
        #expect(notice(start + 86_399) == nil)
        let told = try #require(notice(start + 86_400))
        #expect(told.kind == .feedFailing && told.name == "http://a.example/f?…" && told.message.hasSuffix("HTTP 404"))
        var plan = NoticePlan()
        #expect(plan.admit(told) != nil && plan.admit(told) == nil)
        feed.choices.name = "Another"
        #expect(try plan.admit(#require(notice(start + 90_000))) != nil)
        #expect(try plan.admit(#require(notice(start + 86_399 + NoticePlan.quietOfFeeds))) == nil)
        #expect(try plan.admit(#require(notice(start + 90_000 + NoticePlan.quietOfFeeds))) != nil)
        feed.note(nil, at: start + 90_000)
        #expect(notice(start + 900_000) == nil)
        feed.note(failure, at: start + 900_000)
        #expect(notice(start + 900_001) == nil, "a run between has succeeded")
    }

    @Test("A burst is bounded, and the next notice counts what was left out")
    func burst() {
        var plan = NoticePlan()
        let start: Int64 = 1_800_000_000
        let titles = (0..<NoticePlan.burst + 5).map { TitleID("aaaaaaa\(Character(UnicodeScalar(UInt8(97 + $0))))") }
        #expect(titles.allSatisfy { $0 != nil })
        let sent = titles.compactMap { plan.admit(notice(.damage, $0, at: start)) }
        #expect(sent.count == NoticePlan.burst && sent.allSatisfy { $0.omitted == 0 })
        let next = plan.admit(notice(.diskFull, at: start + NoticePlan.burstTime))
        #expect(next?.omitted == 5)
        #expect(plan.admit(notice(.downloadFailed, at: start + NoticePlan.burstTime))?.omitted == 0)
    }

    @Test("A clock that is set back silences nothing")
    func setBack() {
        var plan = NoticePlan()
        #expect(plan.admit(notice(.diskFull, at: 1_800_000_000)) != nil)
        #expect(plan.admit(notice(.diskFull, at: 1_700_000_000)) != nil)
    }

    @Test("Of the store's events only a full disk and a full vault are told")
    func events() {
        let now = Timestamp(seconds: 1_800_000_000)
        for (event, isTold) in [
            (StoreEvent.passingThrough(.diskFull, "a"), true), (.passingThrough(.capacity, "a"), true),
            (.passingThrough(.mode, "a"), false), (.passingThrough(.live, "a"), false),
            (.passingThrough(.unverifiable, "a"), false), (.storing(passedThrough: 1), false),
            (.evicted(titles: 1, segments: 1, bytes: 1), false),
        ] {
            #expect((OperatorNotice(event, at: now) != nil) == isTold, "\(event)")
        }
    }
}
