import Foundation
import GRDB
import Testing
import VaultCrypto
import VaultModel
import VaultTestSupport

@testable import VaultStorage

@Suite("The subscriptions in the index")
struct SubscriptionRowTests {
    private let vault: TemporaryVault
    private let store: VaultStore

    init() throws {
        vault = try TemporaryVault()
        store = try vault.open()
    }

    private static func subscription(_ number: Int64) throws -> MediaSubscription {
        var choices = MediaSubscription.Choices()
        (choices.name, choices.newest, choices.interval) = ("A secret name \(number)", 5, 21_600)
        (choices.keepsGone, choices.usesContentIDs, choices.takesAnyType) = (true, true, true)
        (choices.video, choices.audio, choices.subtitles) = ("480", "en", "none")
        var subscription = MediaSubscription(
            try SecureRandom.identifier("subscription id"),
            .feed("https://user:hunter1@secret.example/feed?token=hunter2"), choices, added: 1_700_000_000 + number)
        subscription.statedName = "A stated name"
        subscription.wanted = [try #require(TitleID("k3v7q2ma"))]
        subscription.brought = [try #require(TitleID("k3v7q2mb")), try #require(TitleID("k3v7q2mc"))]
        (subscription.lastRun, subscription.nextRun, subscription.failures) = (1_700_000_009, 1_700_000_010, 2)
        subscription.failure = MediaSubscription.Failure(code: "refused", message: "no")
        return subscription
    }

    @Test("Subscriptions are read as they were written, the oldest first, also by a reader and after a restart")
    func roundTrip() throws {
        let written = try [3, 1, 2].map { try Self.subscription($0) }
        for subscription in written { try store.subscriptions.write(subscription) }
        try store.close()
        for access in [VaultStore.Access.reader, .owner] {
            let again = try vault.open(access)
            let found = try again.subscriptions.all()
            #expect(found.subscriptions == [written[1], written[2], written[0]] && found.damaged == 0)
            try again.close()
        }
    }

    @Test("Nothing of a subscription is readable in the files, and a removed one is gone")
    func sealed() throws {
        let (one, other) = (try Self.subscription(1), try Self.subscription(2))
        for subscription in [one, other] { try store.subscriptions.write(subscription) }
        try store.subscriptions.remove([one.id])
        #expect(try store.subscriptions.all().subscriptions == [other])
        try store.close()
        for name in ["index.sqlite", "catalog.backup"] {
            let bytes = try Data(contentsOf: URL(filePath: vault.folder + "/" + name))
            for text in ["hunter", "secret", "stated", "k3v7q2m"] {
                #expect(bytes.range(of: Data(text.utf8)) == nil, "\(text) in \(name)")
            }
        }
    }

    @Test(
        "A record with an impossible member counts as damaged",
        arguments: [
            ("url", nil), ("list", .string("both")), ("added", nil), ("newest", .integer(0)),
            ("newest", .integer(10_001)),
            ("interval", .integer(1)), ("wanted", .string("x")), ("failure", .string("x")),
            ("name", .string("two\nlines")),
        ] as [(String, JSONValue?)])
    func impossible(member: String, value: JSONValue?) throws {
        let subscription = try Self.subscription(1)
        #expect(MediaSubscription(subscription.id, subscription.record) == subscription)
        var record = subscription.record
        record[member] = value
        #expect(MediaSubscription(subscription.id, record) == nil)
    }

    @Test(
        "A row that was changed, exchanged or made too large is damaged; the others are read",
        arguments: [
            "UPDATE subscription SET record = x'00' WHERE id = :one",
            "UPDATE subscription SET record = (SELECT record FROM subscription WHERE id = :two) WHERE id = :one",
            "UPDATE subscription SET record = zeroblob(2000000) WHERE id = :one",
            "UPDATE subscription SET record = 'text' WHERE id = :one",
        ])
    func damaged(sql: String) throws {
        let (one, two) = (try Self.subscription(1), try Self.subscription(2))
        for subscription in [one, two] { try store.subscriptions.write(subscription) }
        try store.index.write { try $0.execute(sql: sql, arguments: ["one": one.id.data, "two": two.id.data]) }
        let found = try store.subscriptions.all()
        #expect(found.damaged == 1 && found.subscriptions == [two])
        try store.close()
    }

    @Test("A change of the locator seals the subscriptions under the new key, and lets their feeds be read again")
    func locator() throws {
        var subscription = try Self.subscription(1)
        try store.subscriptions.write(subscription)
        _ = try LocatorChange(store).run(
            noting: vault.log(of: store), queued: { _, _ in nil }, principals: { _, _ in [:] })
        #expect(store.index.locator == 2 && store.keyring.locators == [2])
        subscription.nextRun = nil
        #expect(try store.subscriptions.all().subscriptions == [subscription])
        try store.close()
    }

    @Test("A title of the queue that has another id under a new locator stays the subscription's")
    func locatorOfQueued() throws {
        let reseal = { (locator: Int) in
            try #require(ResourceID(bytes: Array(repeating: UInt8(locator), count: 32)))
        }
        let (former, renamed) = (try TitleID(of: reseal(1)), try TitleID(of: reseal(2)))
        var subscription = try Self.subscription(1)
        subscription.wanted.insert(former)
        subscription.brought.insert(former)
        try store.subscriptions.write(subscription)
        let download = QueuedDownload(
            try SecureRandom.identifier("download id"), DownloadOrder(url: "https://a.example/"), title: former,
            added: 1_700_000_000, position: QueuedDownload.middle)
        try store.downloads.write([download], isDurable: true)
        _ = try LocatorChange(store).run(
            noting: vault.log(of: store), queued: { _, locator in try? reseal(locator) }, principals: { _, _ in [:] })
        let found = try #require(try store.subscriptions.all().subscriptions.first)
        #expect(try store.downloads.all().downloads.map(\.title) == [renamed])
        #expect(found.wanted.contains(renamed) && found.brought.contains(renamed))
        #expect(!found.wanted.contains(former) && !found.brought.contains(former))
        try store.close()
    }

    @Test("Rows with an impossible id count as damaged, hide and stop nothing, and can be removed")
    func impossibleIDs() throws {
        let subscription = try Self.subscription(1)
        try store.subscriptions.write(subscription)
        try store.index.write { db in
            try db.execute(
                sql: """
                    INSERT INTO subscription VALUES (1234567890123456, x'00'), ('sixteen letters.', x'00');
                    WITH RECURSIVE number(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < 500)
                    INSERT INTO subscription SELECT CAST(printf('%016d', n) AS BLOB), x'00' FROM number;
                    """)
        }
        #expect(try store.subscriptions.all().damaged == 502)
        #expect(try store.subscriptions.all().subscriptions == [subscription])
        _ = try LocatorChange(store).run(
            noting: vault.log(of: store), queued: { _, _ in nil }, principals: { _, _ in [:] })
        #expect(try store.subscriptions.all().subscriptions.map(\.id) == [subscription.id])
        try store.subscriptions.removeAll()
        let left = try store.subscriptions.all()
        #expect(left.damaged == 0 && left.subscriptions.isEmpty)
        try store.close()
    }

    @Test("A rebuilt index has the subscriptions of the backup")
    func rebuilt() throws {
        let subscription = try Self.subscription(1)
        try store.subscriptions.write(subscription)
        try store.close()
        try TemporaryFolder.remove(vault.folder + "/index.sqlite")
        let rebuild = try IndexRebuild(at: vault.folder, keyring: vault.keyring, evenIfSound: false)
        for byte in IndexRebuild.bytes { try rebuild.adopt(byte) }
        _ = try rebuild.finish()
        let again = try vault.open()
        #expect(try again.subscriptions.all().subscriptions == [subscription])
        try again.close()
    }

    @Test("A vault without the table opens for readers as it is, and an owner adds the table")
    func older() throws {
        try store.close()
        for name in ["index.sqlite", "catalog.backup"] {
            let queue = try DatabaseQueue(path: vault.folder + "/" + name)
            try queue.write {
                try $0.execute(sql: "DROP TABLE subscription; DROP TABLE network; PRAGMA user_version = 3")
            }
            try queue.close()
        }
        let reader = try vault.open(.reader)
        #expect(try reader.subscriptions.all().subscriptions.isEmpty)
        try reader.close()
        let owner = try vault.open()
        try owner.subscriptions.write(try Self.subscription(1))
        #expect(try owner.subscriptions.all().subscriptions.count == 1)
        try owner.close()
    }

    @Test("The destruction of a vault deletes the subscriptions")
    func destroyed() throws {
        try store.subscriptions.write(try Self.subscription(1))
        _ = try store.index.resources.removeAll()
        #expect(try store.subscriptions.all().subscriptions.isEmpty)
        try store.close()
    }
}
