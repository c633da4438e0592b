import Foundation
import GRDB
import Testing
import VaultCrypto
import VaultModel
import VaultTestSupport

@testable import VaultStorage

@Suite("The catalog has two copies, and neither brings back what is to be gone")
struct CatalogCopiesTests {
    private let vault: TemporaryVault
    private let store: VaultStore
    private let film: ResourceID
    private var newest: String { vault.folder + "/catalog.backup" }
    private var former: String { newest + ".1" }

    init() throws {
        (vault, store, film) = try EveryRecord.backedUp()
    }

    private func spoil(_ path: String) throws {
        try Data(repeating: 7, count: 9000).write(to: URL(filePath: path))
    }

    @Test("A new backup keeps the one before, unless that cannot be read")
    func inTurn() throws {
        _ = try store.addMedia("second", length: 10)
        try store.catalogBackup.write()
        #expect(try CatalogBackupTests.resourceCount(newest) == 2)
        #expect(try CatalogBackupTests.resourceCount(former) == 1)
        try spoil(newest)
        _ = try store.addMedia("third", length: 10)
        try store.catalogBackup.write()
        #expect(try CatalogBackupTests.resourceCount(newest) == 3)
        #expect(try CatalogBackupTests.resourceCount(former) == 1, "what cannot be read replaces nothing")
        try store.close()
    }

    @Test(
        "If the newest copy is damaged or missing, the one before brings back what does not open",
        arguments: [true, false])
    func fallback(isMissing: Bool) throws {
        _ = try store.addMedia("second", length: 10)
        try store.catalogBackup.write()
        if isMissing { try FileManager.default.removeItem(atPath: newest) } else { try spoil(newest) }
        try store.damage("UPDATE resource SET metadata = zeroblob(284) WHERE id = ?", [film.data])
        try store.damage("UPDATE subscription SET record = x''")
        let restored = try CatalogRestore(store).run()
        #expect(restored.resources == 1 && restored.records == 1)
        #expect(try store.index.read { try store.index.resources.opens(film, $0) })
        try store.close()
    }

    @Test("A row that is damaged in the index and in the newest copy comes back from the one before")
    func rowByRow() throws {
        _ = try store.addMedia("second", length: 10)
        try store.catalogBackup.write()
        let damage = "UPDATE resource SET metadata = zeroblob(284) WHERE id = x'\(film.hex)'"
        let queue = try DatabaseQueue(path: newest)
        try queue.write { db in try db.execute(sql: damage) }
        try queue.close()
        try store.damage(damage)
        try store.damage("UPDATE share SET record = x''")
        try store.catalogBackup.write()
        #expect(try CatalogRestore(store).run().resources == 1)
        #expect(try store.index.read { try store.index.resources.opens(film, $0) })
        try store.close()
    }

    @Test("A rebuild and the description of the needed keyring take the copy before if the newest is damaged")
    func rebuild() throws {
        _ = try store.addMedia("second", length: 10)
        try store.catalogBackup.write()
        try store.close()
        try spoil(newest)
        for suffix in ["", "-wal", "-shm"] {
            try? FileManager.default.removeItem(atPath: vault.folder + "/index.sqlite" + suffix)
        }
        #expect(VaultStore.hasLostIndex(at: vault.folder))
        #expect(try KeyringRequirements.read(vault: vault.folder).vaultID == vault.keyring.vaultID)
        let rebuild = try IndexRebuild(at: vault.folder, keyring: vault.keyring, evenIfSound: false)
        for byte in IndexRebuild.bytes { try rebuild.adopt(byte) }
        #expect(try rebuild.finish().resources == 1)
        let again = try vault.open()
        #expect(try again.index.read { try again.index.resources.opens(film, $0) })
        try again.close()
    }

    @Test("An erasure leaves in neither copy what was erased")
    func erasure() throws {
        try store.catalogBackup.write()
        #expect(try CatalogBackupTests.resourceCount(former) == 1, "premise")
        _ = try store.resources.remove(film)
        try store.erasure.carryOut()
        for path in [newest, former] {
            #expect(try CatalogBackupTests.resourceCount(path) == 0)
            #expect(try TemporaryFolder.mode(of: path) == 0o600)
        }
        try store.close()
    }

    @Test("What was revoked altogether does not come back, even if the index had lost it before")
    func revokedAltogether() throws {
        try store.damage("DELETE FROM accessGrant")
        try store.grants.remove([], withUnreadable: true)
        #expect(try CatalogRestore(store).run() == Restored())
        try store.catalogBackup.write()
        #expect(try CatalogRestore(store).run() == Restored())
        #expect(try store.grants.all().grants.isEmpty)
        try store.close()
    }

    @Test("A share that was made smaller, and a PIN that was changed, do not come back as they were before")
    func lessThanBefore() throws {
        let stored = try store.viewers.all()
        let (viewer, share) = (try #require(stored.viewers.first), try #require(stored.shares[film]))
        let other: ViewerID = try SecureRandom.identifier("viewer id")
        var restricted = viewer
        let pin = try #require(
            PINVerifier(
                salt: Array(repeating: 1, count: 16), passes: 1, memory: 8 << 20, hash: Array(repeating: 2, count: 32)))
        restricted.pin = pin
        try store.viewers.write(restricted)
        try store.viewers.write([film: TitleShare(title: share.title, viewers: [viewer.id, other])])
        // The next erasure waits for a minute.
        try store.erasure.carryOut()
        #expect(try store.erasure.isPending() == false)
        try store.viewers.write([film: TitleShare(title: share.title, viewers: [other])])
        restricted.pin = nil
        try store.viewers.write(restricted)
        try store.damage(
            "UPDATE share SET record = x''; UPDATE viewer SET record = x''; UPDATE subscription SET record = x''")
        #expect(try CatalogRestore(store).run().records == 1, "only what took no right away")
        let left = try store.viewers.all()
        #expect(left.viewers.isEmpty && left.shares.isEmpty)
        try store.close()
    }

    @Test("A share that was made larger comes back as it was before")
    func moreThanBefore() throws {
        let share = try #require(try store.viewers.all().shares[film])
        let other: ViewerID = try SecureRandom.identifier("viewer id")
        try store.viewers.write([film: TitleShare(title: share.title, viewers: share.viewers.union([other]))])
        try store.damage("UPDATE share SET record = x''")
        #expect(try CatalogRestore(store).run().records == 1)
        #expect(try store.viewers.all().shares[film] == share)
        try store.close()
    }

    /// Adds a part of the film to the backup alone.
    private func losePart() throws -> ResourceID {
        let cacheKey = Array("http://origin.example/film".utf8)
        let url = "http://origin.example/part.ts"
        let part = try #require(store.keyring.resourceID(cacheKey: Array(url.utf8), locator: store.index.locator))
        _ = try store.resources.add(
            part, url: url, cacheKey: Array(url.utf8), resourceClass: .download, partOf: [cacheKey])
        try store.catalogBackup.write()
        try store.damage("DELETE FROM resourceKey WHERE resource = ?", [part.data])
        try store.damage("DELETE FROM part; DELETE FROM resource WHERE id = ?", [part.data])
        return part
    }

    @Test("A part whose row was lost does not come back once its title was removed")
    func partOfRemoved() throws {
        _ = try losePart()
        _ = try store.index.resources.remove(film)
        #expect(try CatalogRestore(store).run() == Restored())
        try store.close()
    }

    @Test("A lost part comes back while its title is there, linked to it")
    func partOfPresent() throws {
        let part = try losePart()
        #expect(try CatalogRestore(store).run().resources == 1)
        #expect(try store.index.titles.wrongLinks(of: part) == 0)
        #expect(try store.index.read { try PartRow.titles(of: part, $0) } == [film])
        try store.close()
    }

    @Test("A class and an hour that are impossible in the backup are corrected when a title comes back")
    func impossibleValues() throws {
        let queue = try DatabaseQueue(path: newest)
        try queue.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA ignore_check_constraints = ON; UPDATE resource SET class = 'x', accessed = -5")
            try db.execute(sql: "UPDATE representation SET state = 7")
        }
        try queue.close()
        try store.damage("DELETE FROM representation; DELETE FROM resourceKey; DELETE FROM resource")
        #expect(try CatalogRestore(store).run().resources == 1)
        #expect(try store.index.resources.find(film)?.resourceClass == .download)
        try store.close()
    }

    @Test("A class, an hour and a state that are impossible in the index are corrected, although all of it opens")
    func impossibleInIndex() throws {
        try store.damage("UPDATE resource SET class = 'x', accessed = -5; UPDATE representation SET state = 7")
        let restored = try CatalogRestore(store).run()
        #expect(restored.rows > 0 && restored.resources == 0)
        #expect(try store.index.read { try String.fetchOne($0, sql: "PRAGMA quick_check") } == "ok")
        #expect(try CatalogRestore(store).run() == Restored())
        try store.close()
    }

    @Test("A value that is larger than any writer writes is not read, and its title comes back")
    func hugeValues() throws {
        for (table, column) in [("resource", "metadata"), ("resourceKey", "wrapped"), ("representation", "info")] {
            try store.damage("UPDATE \(table) SET \(column) = zeroblob(40000000)")
            let row = try store.index.read { db in try ResourceRow.fetch(film, db) }
            #expect(column != "metadata" || row?.metadata == nil)
            #expect(try store.index.resources.page(after: nil, limit: 10).map { $0.resource == nil } == [true])
            #expect(try CatalogRestore(store).run().resources == 1, "\(column)")
        }
        try store.close()
    }

    /// Changes the proxy to one that neither copy has.
    private func changeProxy() throws {
        // The next erasure, with its backup, waits for a minute.
        try store.index.write { db in try PendingErasure.record(db) }
        try store.erasure.carryOut()
        try store.changeSettings { settings in
            var network = NetworkSettings()
            network.proxy = try ProxyAddress("http://newer.example:3128")
            settings.setNetwork(network)
        }
    }

    private func proxy(_ store: VaultStore) throws -> String? {
        try store.index.settings().networkSettings().proxy?.host
    }

    @Test("Network settings that come back from before are in force with the settings that stayed")
    func olderNetwork() throws {
        try changeProxy()
        #expect(try proxy(store) == "newer.example", "premise")
        try store.damage("UPDATE network SET record = x''")
        #expect(try CatalogRestore(store).run().records == 1)
        #expect(try proxy(store) == "proxy.example")
        try store.close()
    }

    @Test("Settings that come back from before leave newer network settings in force")
    func olderSettings() throws {
        try changeProxy()
        try store.damage("UPDATE vault SET settings = x''")
        #expect(try CatalogRestore(store).run().records == 1)
        #expect(try proxy(store) == "newer.example")
        try store.close()
    }

    @Test("A rebuild takes a share that only the index has, although only the backup opens its title")
    func rebuildOfShared() throws {
        let share = try #require(try store.viewers.all().shares[film])
        try store.viewers.write([film: TitleShare(title: share.title, viewers: [])])
        try store.catalogBackup.write()
        try store.viewers.write([film: share])
        try store.damage("UPDATE resource SET metadata = 'x'")
        try store.index.close()
        store.giveUpLock()
        let rebuild = try IndexRebuild(at: vault.folder, keyring: vault.keyring, evenIfSound: false)
        for byte in IndexRebuild.bytes { try rebuild.adopt(byte) }
        _ = try rebuild.finish()
        let again = try vault.open()
        #expect(try again.viewers.all().shares == [film: share])
        try again.close()
    }

    @Test("A rebuild of an index whose settings are lost brings back nothing that was deleted, and takes the backup's")
    func rebuildWithoutSettings() throws {
        let share = try #require(try store.viewers.all().shares[film])
        try store.viewers.write([film: TitleShare(title: share.title, viewers: [])])
        try store.subscriptions.remove(store.subscriptions.all().subscriptions.map(\.id))
        try store.damage("UPDATE vault SET settings = zeroblob(400)")
        try store.index.close()
        store.giveUpLock()
        let rebuild = try IndexRebuild(at: vault.folder, keyring: vault.keyring, evenIfSound: false)
        for byte in IndexRebuild.bytes { try rebuild.adopt(byte) }
        #expect(try rebuild.finish().areSettingsLost == false)
        let again = try vault.open()
        #expect(try again.viewers.all().shares.isEmpty && again.subscriptions.all().subscriptions.isEmpty)
        #expect(try again.index.settings().mode == .offline)
        #expect(try proxy(again) == "proxy.example")
        try again.close()
    }
}
