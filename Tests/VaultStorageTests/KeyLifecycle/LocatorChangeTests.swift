import GRDB
import Testing
import VaultCrypto
import VaultModel
import VaultTestSupport

@testable import VaultStorage

@Suite("A change of the locator in the store")
struct LocatorChangeTests {
    @Test("Settings that are written before the index follows a change of the row do not undo it")
    func settingsBetween() throws {
        let vault = try TemporaryVault()
        let store = try vault.open()
        let index = store.index
        _ = try vault.keyringPlace().changeKeyring(of: store) { try $0.addLocator() }
        // As right after the transaction of a change.
        try index.write { db in try index.write(index.settings(db), locator: 2, db) }
        #expect(index.locator == 1, "the index does not follow yet")
        try index.changeSettings { $0.mode = .offline }
        try index.countFetched(9)
        let row = try index.read { db in try VaultRow.fetch(db) }
        #expect(row?.locator == 2)
        let settings = try index.settings()
        #expect(settings.mode == .offline && settings.bytesFetched == 9)
        try store.close()
    }

    @Test("A title that the backup alone opens gets its new id, too")
    func fromBackup() throws {
        let vault = try TemporaryVault()
        let store = try vault.open()
        let former = try store.addMedia("film", length: 10)
        try store.catalogBackup.write()
        try store.index.write { db in try db.execute(sql: "UPDATE resource SET metadata = zeroblob(284)") }
        let unopened = try LocatorChange(store).run(
            noting: vault.log(of: store), queued: { _, _ in nil }, principals: { _, _ in [:] })
        let id = try #require(
            store.keyring.resourceID(cacheKey: former.metadata.cacheKey, locator: store.index.locator))
        #expect(unopened == 0 && id != former.id)
        #expect(try store.index.resources.find(id)?.id == id)
        try store.close()
    }
}
