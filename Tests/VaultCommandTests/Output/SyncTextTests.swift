import Foundation
import MediaVault
import Testing
import VaultService

@testable import VaultCommand

@Suite("The words for runs of subscriptions")
struct SyncTextTests {
    private static func document(repairs: String = "", moved: Bool = false, to place: String = "null") throws
        -> SyncDocument
    {
        let text = #"""
            {"fetched":[{"id":"k3v7q2ma","name":"One","problem":null}],"moved":\#(moved),"pinned":0,"problem":null,"removed":[],
            "repairs":[\#(repairs)],
            "subscription":{"added":"2026-11-23T22:00:00Z","anyType":false,"audio":null,"contentIDs":false,"every":null,
            "gone":false,"id":"0a1b2c3d","keep":false,"lastRun":null,"list":null,"movedTo":\#(place),"name":"Show","newest":null,"nextRun":null,
            "problem":null,"subtitles":null,"titles":1,"url":"http://a.example/","video":null},
            "unchanged":2,"unusable":0,"waiting":0}
            """#
        return try JSONDecoder().decode(SyncDocument.self, from: Data(text.utf8))
    }

    @Test("A line says what was repaired, before the counts; there is none if nothing was")
    func repairs() throws {
        let repaired = SyncText.of(
            try Self.document(repairs: #""3 bare &","2 HTML entities""#), isDryRun: false, isServed: false)
        #expect(
            repaired == """
                fetched k3v7q2ma  One
                read with repairs: 3 bare &, 2 HTML entities
                Show: 1 fetched, 0 removed, 2 unchanged

                """)
        #expect(try !SyncText.of(Self.document(repairs: ""), isDryRun: true, isServed: true).contains("repairs"))
    }

    @Test("The status counts the feeds, and names the command that says why some fail")
    func counts() {
        #expect(SyncText.counts(Self.counts(0, 0)) == "none")
        #expect(SyncText.counts(Self.counts(3, 0)) == "3 followed")
        #expect(SyncText.counts(Self.counts(3, 1)).contains("1 failing for a day or longer: mediavault sync list"))
    }

    private static func counts(_ followed: Int, _ failing: Int) -> SubscriptionCounts {
        SubscriptionCounts(followed: followed, failing: failing)
    }

    @Test("Where a feed has moved to is said by the run that found it, and not again")
    func moved() throws {
        let place = #""http://b.example/""#
        let text = { SyncText.of($0, isDryRun: false, isServed: false) }
        let found = text(try Self.document(moved: true, to: place))
        #expect(found.contains("moved to http://b.example/\n"))
        #expect(try !text(Self.document(to: place)).contains("moved to"))
    }

    @Test("Where a feed has moved to is said when it is added, and in the table, also beside what failed")
    func movedSubscription() throws {
        var subscription = try Self.document(to: #""http://b.example/""#).subscription
        let added = SyncText.added(subscription, isUntried: false)
        #expect(added == ["it has moved to http://b.example/", "it names 1 title"])
        #expect(SyncText.table([subscription], now: 0).hasSuffix("  Show; moved to http://b.example/\n"))
        subscription.problem = "busy"
        #expect(SyncText.table([subscription], now: 0).hasSuffix("  Show: busy; moved to http://b.example/\n"))
        subscription = try Self.document().subscription
        #expect(SyncText.added(subscription, isUntried: true) == ["it was not tried"])
        #expect(SyncText.table([subscription], now: 0).hasSuffix("  Show\n"))
    }

    @Test("An answer of an earlier service, which does not say whether a feed has moved, is read")
    func earlierService() throws {
        let text = try JSONText.of(Self.document()).replacing(#""moved":false,"#, with: "")
        let document = try JSONDecoder().decode(SyncDocument.self, from: Data(text.utf8))
        #expect(document.moved == nil && document.unchanged == 2)
    }
}
