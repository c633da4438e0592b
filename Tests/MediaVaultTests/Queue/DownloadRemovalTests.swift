import Foundation
import GRDB
import OriginTestSupport
import Testing
import VaultModel

@testable import MediaVault
@testable import VaultStorage

@Suite("What is removed leaves the download queue", .timeLimit(.minutes(5)))
struct DownloadRemovalTests {
    private let length: Int64 = 300_000

    /// A way in which a user removes a title.
    enum Way: CaseIterable {
        case remove, shred, quickShred

        /// Returns the error with which the title was not removed.
        func carryOut(_ reference: MediaReference, in vault: Vault) async throws -> VaultError? {
            switch self {
            case .remove:
                do { try await vault.titles.remove(reference) } catch let error as VaultError { return error }
                return nil
            case .shred, .quickShred:
                return try await vault.keys.shred([reference], quick: self == .quickShred).titles.first?.error
            }
        }
    }

    @Test("A title that is removed while it is downloaded is not fetched again", arguments: Way.allCases)
    func running(way: Way) async throws {
        let gate = Gate()
        let fixture = try await VaultFixture(ScriptedResource(length: length))
        fixture.origin.answer { [resource = fixture.resource] request in
            var answer = resource.answer(to: request)
            if request.target == "/a" { answer.insert(.hold(gate), at: 100_000) }
            return answer
        }
        let vault = try await fixture.open()
        vault.queue.start()
        let reference = MediaReference(fixture.origin.url("/a"))
        try await vault.queue.add([(reference, DownloadOptions())])
        await fixture.origin.wait { $0.first?.phase == .held }
        while try await vault.titles.summary(of: reference) == nil { try await Task.sleep(for: .milliseconds(5)) }
        #expect(try await way.carryOut(reference, in: vault) == nil)
        let running = vault.queue.state.withLock(\.running.count)
        #expect(running == 0, "it has ended when the removal returns")
        #expect(try await vault.queue.counts() == DownloadCounts())
        // The queue continues with its other entries.
        try await vault.queue.add([(MediaReference(fixture.origin.url("/b")), DownloadOptions())])
        try await vault.queue.wait { try await $0.counts() == DownloadCounts() }
        #expect(try await vault.titles.summary(of: reference) == nil)
        #expect(fixture.origin.exchanges.filter { $0.request.target == "/a" }.count == 1)
        gate.open()
        await vault.close()
        let again = try await fixture.open()
        #expect(try await again.queue.counts() == DownloadCounts())
        await again.close()
    }

    @Test(
        "The queue forgets a title of which nothing is held yet, although there is nothing to remove",
        arguments: Way.allCases)
    func unheld(way: Way) async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: length))
        let vault = try await fixture.open()
        let (mine, other) = (MediaReference(fixture.url), MediaReference(fixture.origin.url("/other")))
        try await vault.queue.add([(mine, DownloadOptions()), (other, DownloadOptions())])
        #expect(try await way.carryOut(mine, in: vault)?.code == .notHeld)
        #expect(try await vault.queue.page(limit: 9).downloads.map(\.url) == ["\(other.url)"])
        #expect(try vault.store.downloads.all().downloads.map(\.order.url) == ["\(other.url)"])
        await vault.close()
    }

    @Test("A title that the queue cannot forget is not removed, so that it does not come back", arguments: Way.allCases)
    func failing(way: Way) async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: length))
        let vault = try await fixture.open()
        for try await _ in vault.download(fixture.url) {}
        try await vault.queue.add([(MediaReference(fixture.url), DownloadOptions())])
        // No row of the queue can be deleted.
        try vault.store.index.write { db in
            try db.execute(
                sql: """
                    CREATE TABLE holder (id BLOB REFERENCES download(id));
                    INSERT INTO holder SELECT id FROM download;
                    """)
        }
        var code: VaultError.Code?
        do {
            code = try await way.carryOut(MediaReference(fixture.url), in: vault)?.code
        } catch let error as VaultError {
            code = error.code
        }
        #expect(code == .storage)
        #expect(try await vault.titles.summary(of: fixture.url)?.isComplete == true)
        #expect(try await vault.queue.counts() == DownloadCounts(waiting: 1))
        try vault.store.index.write { try $0.execute(sql: "DROP TABLE holder") }
        await vault.close()
    }

    @Test("Rows that do not open are counted, hinder nothing, and go when all is cancelled")
    func damaged() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: length))
        let vault = try await fixture.open()
        try await vault.queue.add([(MediaReference(fixture.origin.url("/a")), DownloadOptions())])
        // The length of its text is 16.
        try vault.store.index.write { db in
            try db.execute(
                sql: """
                    INSERT INTO download VALUES (zeroblob(16), x'00'), ('sixteen letters.', x'00'),
                        (1234567890123456, 'text')
                    """)
        }
        await vault.close()
        let again = try await fixture.open()
        #expect(try await again.status().downloads == DownloadCounts(waiting: 1, damaged: 3))
        again.queue.start()
        try await again.queue.wait { try await $0.counts() == DownloadCounts(damaged: 3) }
        #expect(try await again.titles.summary(of: fixture.origin.url("/a"))?.isComplete == true)
        _ = try await again.keys.changeLocator()
        #expect(try await again.queue.counts() == DownloadCounts(damaged: 3))
        #expect(try await again.queue.change(.cancel, of: .all) == 3)
        #expect(try await again.queue.counts() == DownloadCounts())
        #expect(try again.store.index.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM download") } == 0)
        await again.close()
    }

    @Test("A change of the locator keeps entries and titles together, stored or not")
    func locator() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: length))
        let vault = try await fixture.open()
        let (held, next) = (MediaReference(fixture.url), MediaReference(fixture.origin.url("/next")))
        let mine = MediaReference(
            fixture.origin.url("/mine"), contentID: "mine", fields: HeaderFields(["Authorization": "Bearer one"]))
        for try await _ in vault.download(fixture.url) {}
        let before = try await vault.queue.add([held, next, mine].map { ($0, DownloadOptions()) }).map(\.title)
        let revision = vault.queue.running.revision
        _ = try await vault.keys.changeLocator()
        let after = try await vault.queue.page(limit: 9).downloads.map(\.title)
        #expect(after[0] == before[0], "what is stored keeps its id")
        #expect(Set(after).isDisjoint(with: before[1...]), "premise: others have another id under the new locator")
        #expect(vault.queue.changes(since: revision).downloads?.count == 3, "those who follow it learn that")
        for (reference, title) in zip([held, next, mine], after) {
            #expect(try await vault.titles.titleID(of: reference) == title)
        }
        let again = try await vault.queue.add([held, next, mine].map { ($0, DownloadOptions()) })
        #expect(again.map(\.title) == after)
        #expect(try await vault.queue.counts() == DownloadCounts(waiting: 3), "none is queued twice")
        await vault.close()
        let reopened = try await fixture.open()
        #expect(try await reopened.queue.page(limit: 9).downloads.map(\.title) == after)
        reopened.queue.start()
        try await reopened.queue.wait { try await $0.counts() == DownloadCounts() }
        for (reference, title) in zip([held, next, mine], after) {
            #expect(try await reopened.titles.summary(of: reference)?.id == title)
        }
        await reopened.close()
    }
}
