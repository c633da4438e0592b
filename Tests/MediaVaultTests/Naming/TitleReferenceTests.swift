import Foundation
import GRDB
import OriginTestSupport
import Testing
import VaultCrypto

@testable import MediaVault
@testable import VaultStorage

@Suite("Titles by their ids", .timeLimit(.minutes(5)))
struct TitleReferenceTests {
    private let length: Int64 = 300_000

    private func id(_ vault: Vault, _ reference: MediaReference) async throws -> TitleID {
        try #require(try await vault.titles.summary(of: reference)?.id)
    }

    @Test("An id is the beginning of the resource id, and names the title for every call")
    func named() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: length))
        let vault = try await fixture.open()
        #expect(try await fixture.read(vault) == 0..<length)
        let id = try await id(vault, MediaReference(fixture.url))
        #expect(try await vault.name(MediaReference(fixture.url)).id.bytes.prefix(5).elementsEqual(id.resources.first))
        let reference = try await vault.titles.reference(of: id)
        #expect(reference.url == fixture.url && reference.contentID == nil)
        try await vault.titles.pin(reference)
        let summary = try #require(try await vault.titles.summary(of: fixture.url))
        #expect(summary.resourceClass == "pinned" && summary.id == id && summary.contentID == nil)
        #expect(abs(summary.added.seconds - Int64(Date().timeIntervalSince1970)) < 600)
        #expect(summary.accessed.seconds % 3600 == 0)
        #expect(try await vault.titles.remove(reference) > 0)
        let gone = await #expect(throws: VaultError.self) { try await vault.titles.reference(of: id) }
        #expect(gone?.code == .notHeld && gone?.hint == .listTitles && gone?.message.contains(id.description) == true)
        // A caller that still has the reference finds nothing under it, and stores nothing else under the id.
        #expect(try await vault.titles.summary(of: reference) == nil)
        await vault.close()
    }

    @Test("An id names exactly what is stored: a content id, another user's bytes, a name of an earlier key policy")
    func exact() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: length))
        let vault = try await fixture.open()
        let mine = MediaReference(fixture.url, fields: HeaderFields(["Authorization": "Bearer one"]))
        let yours = MediaReference(fixture.url, fields: HeaderFields(["Authorization": "Bearer two"]))
        let named = MediaReference(fixture.url, contentID: "film: 1")
        let queried = MediaReference(try MediaURL(fixture.url.absoluteString + "?token=1"))
        var ids: [TitleID] = []
        for reference in [mine, yours, named, queried] {
            #expect(try await fixture.bytes(vault, reference) == length)
            ids.append(try await id(vault, reference))
        }
        #expect(Set(ids).count == 4)
        var policy = KeyPolicy()
        try policy.ignore(["token"])
        try await vault.settings.setKeyPolicy(policy)
        #expect(try await vault.titles.summary(of: queried) == nil)
        let sent = fixture.bytesSent
        for (id, original) in zip(ids, [mine, yours, named, queried]) {
            let reference = try await vault.titles.reference(of: id)
            #expect(reference.url == original.url && reference.contentID == original.contentID)
            #expect(reference.fields.fields.isEmpty)
            #expect(try await vault.titles.summary(of: reference)?.id == id)
            #expect(try await fixture.bytes(vault, reference) == length)
        }
        #expect(fixture.bytesSent == sent)
        // Fields of another user must not bring their bytes into this user's title.
        var (right, wrong) = (
            try await vault.titles.reference(of: ids[0]), try await vault.titles.reference(of: ids[0])
        )
        (right.fields, wrong.fields) = (mine.fields, yours.fields)
        let other = wrong
        let error = await #expect(throws: VaultError.self) { try await vault.name(other) }
        #expect(error?.code == .notHeld)
        #expect(try await vault.titles.summary(of: right)?.id == ids[0])
        // A link plays the title for which it was created; a link that would play another is not created.
        for id in ids[..<3] {
            let path = try await vault.access.playbackPath(for: vault.titles.reference(of: id), expires: 4_000_000_000)
            let linked = try #require(vault.tokens.reference(ofTarget: path, now: 0))
            #expect(try await vault.titles.summary(of: linked)?.id == id)
        }
        let renamed = try await vault.titles.reference(of: ids[3])
        let policyError = await #expect(throws: VaultError.self) {
            try await vault.access.playbackPath(for: renamed, expires: 4_000_000_000)
        }
        #expect(policyError?.code == .invalidArgument)
        // A title that is gone is not mistaken for the one that its URL now names.
        let plain = MediaReference(fixture.url)
        #expect(try await fixture.bytes(vault, plain) == length)
        let gone = try await vault.titles.reference(of: id(vault, plain))
        try await vault.titles.remove(yours)
        try await vault.titles.remove(gone)
        #expect(try await vault.titles.summary(of: plain)?.id == ids[0])
        #expect(try await vault.titles.summary(of: gone) == nil)
        await vault.close()
    }

    @Test("A derived title stays derived: its id does not open private addresses")
    func derived() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: length))
        let vault = try await fixture.open()
        var derived = MediaReference(fixture.url)
        derived.isDerived = true
        let named = try await vault.name(derived)
        _ = try vault.store.resources.add(
            named.id, url: fixture.url.absoluteString, cacheKey: named.key.bytes, resourceClass: .cache, isDerived: true
        )
        #expect(try await vault.titles.reference(of: TitleID(of: named.id)).isDerived)
        await vault.close()
    }

    @Test("Ids outlive changes of the locator and a rebuild of the index, and new titles have ids of their own")
    func stable() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: length))
        var vault = try await fixture.open()
        let mine = MediaReference(fixture.url, fields: HeaderFields(["Authorization": "Bearer one"]))
        let others = [MediaReference(fixture.url), MediaReference(fixture.url, contentID: "film"), mine]
        var ids: [TitleID] = []
        for reference in others {
            #expect(try await fixture.bytes(vault, reference) == length)
            ids.append(try await id(vault, reference))
        }
        let stale = try await vault.titles.reference(of: ids[2])
        for locator in 2...3 {
            _ = try await vault.keys.changeLocator()
            #expect(vault.store.index.locator == locator)
            for (id, reference) in zip(ids, others) {
                let resource = try await vault.name(reference).id
                #expect(TitleID(of: resource) != id)
                #expect(try await vault.titles.summary(of: reference)?.id == id)
                #expect(try await vault.name(vault.titles.reference(of: id)).id == resource)
                // The new beginning is not an id.
                await #expect(throws: VaultError.self) { try await vault.titles.reference(of: TitleID(of: resource)) }
            }
        }
        // An earlier reference may name something that no longer exists.
        await #expect(throws: ResourceNames.renaming) { try await vault.name(stale) }
        let new = MediaReference(fixture.url, contentID: "new")
        #expect(try await fixture.bytes(vault, new) == length)
        let newID = try await id(vault, new)
        #expect(try await TitleID(of: vault.name(new).id) == newID)
        #expect(try await vault.name(vault.titles.reference(of: newID)).id == vault.name(new).id)
        for try await _ in vault.keys.reseal() {}
        #expect(try await id(vault, mine) == ids[2])
        try await vault.titles.remove(others[1])
        await #expect(throws: VaultError.self) { try await vault.titles.reference(of: ids[1]) }
        await vault.close()
        _ = try await Vault.rebuildIndex(fixture.place, unlock: fixture.unlock, evenIfSound: true) { _ in }
        vault = try await fixture.open()
        #expect(try await id(vault, others[0]) == ids[0])
        #expect(try await vault.titles.reference(of: ids[2]).url == fixture.url)
        #expect(try await vault.titles.reference(of: newID).contentID == "new")
        await vault.close()
    }

    @Test("If two titles have one id, it names neither; a part counts only if no title has the id")
    func ambiguous() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: length))
        let vault = try await fixture.open()
        #expect(try await fixture.read(vault) == 0..<length)
        let store = vault.store
        let own = try await vault.name(MediaReference(fixture.url)).id
        let id = TitleID(of: own)
        // A resource with the same beginning, as by chance, or in a forged row.
        let twin = try #require(ResourceID(bytes: own.bytes.prefix(5) + own.bytes.dropFirst(5).map { ~$0 }))
        var resource = try store.resources.add(twin, url: "http://a.example/", cacheKey: [1], resourceClass: .cache)
        let error = await #expect(throws: VaultError.self) { try await vault.titles.reference(of: id) }
        #expect(error?.code == .invalidArgument && error?.message.contains("2 titles have the id \(id)") == true)
        try store.resources.changeTitles(of: &resource) { $0.partOf = [[2]] }
        #expect(try await vault.titles.reference(of: id).url == fixture.url)
        try await vault.titles.remove(MediaReference(fixture.url))
        #expect(try store.index.titleIDs.resources(id).map(\.id) == [twin])
        await vault.close()
    }
}
