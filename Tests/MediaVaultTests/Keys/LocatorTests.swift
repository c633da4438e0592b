import Foundation
import GRDB
import OriginTestSupport
import Testing
import VaultCrypto
import VaultModel

@testable import MediaVault
@testable import VaultStorage

@Suite("A new locator changes every resource id", .timeLimit(.minutes(5)))
struct LocatorTests {
    private let length: Int64 = 300_000

    @Test("Titles are found by their URLs as before, ids change, and the old key is gone from the keyring")
    func changed() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: length))
        let vault = try await fixture.open()
        #expect(try await fixture.read(vault) == 0..<length)
        let (named, keyring) = (try await vault.name(MediaReference(fixture.url)), vault.store.keyring)
        let path = vault.tokens.playbackPath(for: fixture.url, expires: 4_000_000_000)
        let admission = try #require(vault.playback.admission(ofTarget: path, now: 0))
        #expect(admission.resource?.id == named.id && vault.playback.isValid(admission, now: 0))
        let reader = try await vault.read(fixture.url)
        _ = try await reader.next()
        let report = try await vault.keys.changeLocator()
        #expect(!report.isLocatorChanging && keyring.locators == [2] && vault.store.index.locator == 2)
        // A reader in progress ends with an error, never with wrong bytes.
        let ended = await #expect(throws: VaultError.self) { while try await reader.next() != nil {} }
        #expect(ended?.code == .removed)
        let newID = try await vault.name(MediaReference(fixture.url)).id
        #expect(newID != named.id && keyring.resourceID(cacheKey: [], locator: 1) == nil)
        // A caller with the old name gets no loader under it; the resource is named again.
        #expect(!vault.playback.isValid(admission, now: 0))
        #expect(throws: ResourceNames.renaming) { try vault.loaders.use(named) }
        #expect(vault.playback.held(named, range: .whole) == nil)
        #expect(try await vault.playback.read(named, range: .whole).range == 0..<length)
        #expect(try await vault.titles.summary(of: fixture.url)?.isComplete == true)
        #expect(try await fixture.read(vault) == 0..<length)
        await vault.close()
        let again = try await fixture.open(mode: .offline)
        #expect(try await fixture.read(again) == 0..<length)
        for try await step in again.checks.verify() where step.report != nil { #expect(step.report?.isSound == true) }
        await again.close()
        #expect(fixture.bytesSent == length)
    }

    @Test("Titles stored for single users stay theirs, and earlier playback links are void")
    func principals() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: length))
        let vault = try await fixture.open()
        let mine = MediaReference(fixture.url, fields: HeaderFields(["Authorization": "Bearer one"]))
        #expect(try await fixture.bytes(vault, mine) == length)
        let path = try vault.tokens.playbackPath(for: mine, expires: 4_000_000_000)
        _ = try await vault.keys.changeLocator()
        #expect(vault.tokens.reference(ofTarget: path, now: 0) == nil)
        for reference in [mine, MediaReference(fixture.url)] {
            #expect(try await vault.titles.summary(of: reference)?.isComplete == true)
            #expect(try await fixture.bytes(vault, reference) == length)
        }
        await vault.close()
        #expect(fixture.bytesSent == length)
    }

    @Test("An unfinished reseal by URL still applies to the same titles afterwards")
    func resealOrder() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: length))
        let vault = try await fixture.open()
        #expect(try await fixture.read(vault) == 0..<length)
        let id = try await vault.name(MediaReference(fixture.url)).id
        _ = try SegmentReseal(vault.store).order(of: [id], bytesPerSecond: 7, noting: vault.keys.environment.log)
        _ = try await vault.keys.changeLocator()
        let newID = try await vault.name(MediaReference(fixture.url)).id
        let order = try #require(try vault.store.index.settings().resealOrder)
        #expect(newID != id && order.resources == [newID] && order.bytesPerSecond == 7)
        await vault.close()
    }

    @Test("Titles that do not open keep their ids, and the error reports it")
    func unopened() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: length))
        let vault = try await fixture.open()
        #expect(try await fixture.read(vault) == 0..<length)
        try vault.store.index.write { try $0.execute(sql: "UPDATE resourceKey SET wrapped = zeroblob(60)") }
        let error = await #expect(throws: VaultError.self) { try await vault.keys.changeLocator() }
        #expect(error?.code == .integrity && error?.message.contains("1 title,") == true)
        #expect(vault.store.index.locator == 2 && vault.store.keyring.locators == [2])
        #expect(try await vault.keys.audit().receipts.map(\.outcome) == [.partly])
        await vault.close()
    }

    @Test("A change interrupted before or after the index changed is finished later", arguments: [false, true])
    func brokenOff(_ isIndexDone: Bool) async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: length))
        var vault = try await fixture.open()
        #expect(try await fixture.read(vault) == 0..<length)
        let (store, place) = (vault.store, KeyringPlace(fixture.place.keyring))
        _ = try place.changeKeyring(of: store) { try $0.addLocator() }
        if isIndexDone {
            let unopened = try LocatorChange(store).rename(
                under: 2, cacheKey: { $0 }, queued: { _, _ in nil }, changing: { _ in })
            #expect(unopened == 0)
        }
        await vault.close()
        vault = try await fixture.open()
        #expect(try await vault.keys.report().isLocatorChanging)
        #expect(try await fixture.read(vault) == 0..<length)
        #expect(try await !vault.keys.changeLocator().isLocatorChanging)
        #expect(vault.store.keyring.locators == [2] && vault.store.index.locator == 2)
        #expect(try await fixture.read(vault) == 0..<length)
        await vault.close()
        #expect(fixture.bytesSent == length)
    }
}
