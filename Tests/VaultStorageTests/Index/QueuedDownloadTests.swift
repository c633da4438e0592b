import Foundation
import GRDB
import Testing
import VaultCrypto
import VaultModel
import VaultTestSupport

@testable import VaultStorage

@Suite("The download queue in the index")
struct QueuedDownloadTests {
    private let vault: TemporaryVault
    private let store: VaultStore

    init() throws {
        vault = try TemporaryVault()
        store = try vault.open()
    }

    private static func download(_ number: Int64) throws -> QueuedDownload {
        var order = DownloadOrder(url: "https://media.example/secret-\(number).mp4?token=hunter2")
        order.contentID = "my-film"
        order.fields = OriginFields(
            origin: "https://media.example", fields: HeaderFields(["Authorization": "Bearer hunter3"]))
        (order.connections, order.rate, order.name, order.requiresMedia) = (4, 9, "A secret name", true)
        (order.video, order.audio, order.subtitles, order.isDerived, order.isByID) = ("480", "en", "none", true, true)
        order.picture = ListedPicture(
            url: "https://media.example/secret.jpg?token=hunter2", fields: number == 1 ? order.fields : nil,
            isDerived: number == 2)
        let id: DownloadID = try SecureRandom.identifier("download id")
        var download = QueuedDownload(
            id, order, title: try #require(TitleID("k3v7q2ma")), added: 1_700_000_000, position: number)
        (download.state, download.attempts, download.notBefore) = (.failed, 3, 1_700_000_009)
        download.failure = QueuedDownload.Failure(code: "refused", message: "no", status: 404)
        return download
    }

    private func expectSame(_ one: QueuedDownload, _ other: QueuedDownload?) {
        #expect(other?.order == one.order && other?.title == one.title && other?.state == one.state)
        #expect(other?.added == one.added && other?.position == one.position && other?.attempts == one.attempts)
        #expect(other?.notBefore == one.notBefore && other?.failure == one.failure && other?.id == one.id)
    }

    @Test("Entries are read as they were written, also by a reader and after a restart")
    func roundTrip() throws {
        let downloads = try (1...3).map { try Self.download($0) }
        try store.downloads.write(downloads, isDurable: true)
        try store.close()
        for access in [VaultStore.Access.reader, .owner] {
            let again = try vault.open(access)
            let found = try again.downloads.all()
            #expect(found.downloads.count == 3 && found.damaged == 0)
            for download in downloads { expectSame(download, found.downloads.first { $0.id == download.id }) }
            try again.close()
        }
    }

    @Test("Pages of the table are read to the end")
    func pages() throws {
        try store.downloads.write(try (1...1100).map { try Self.download($0) }, isDurable: true)
        #expect(try Set(store.downloads.all().downloads.map(\.position)) == Set(1...1100))
        try store.close()
    }

    @Test("Members that this version does not know are kept")
    func unknown() throws {
        let download = try Self.download(1)
        var object = download.object
        object["later"] = .string("kept")
        let read = try #require(QueuedDownload(download.id, object))
        #expect(read.object["later"] == .string("kept"))
        expectSame(download, read)
        var changed = read
        (changed.order, changed.failure) = (DownloadOrder(url: "https://a.example/"), nil)
        #expect(changed.object["later"] == .string("kept") && changed.object["fields"] == nil)
        #expect(changed.object["failure"] == nil && changed.object["contentID"] == nil)
    }

    @Test(
        "A record with an impossible member counts as damaged",
        arguments: [
            ("url", nil), ("title", .string("no id")), ("state", .string("flying")), ("added", .integer(-1)),
            ("added", .integer(.max)), ("position", .integer(1 << 53)), ("position", .integer(-1)),
            ("position", .string("1")),
            ("attempts", .integer(-1)), ("attempts", .integer(1 << 32)), ("notBefore", .integer(-1)),
            ("connections", .integer(0)), ("rate", .integer(0)), ("failure", .string("x")),
            ("fields", .array([.string("x")])), ("fieldsOrigin", nil),
        ] as [(String, JSONValue?)])
    func impossible(member: String, value: JSONValue?) throws {
        let download = try Self.download(1)
        #expect(QueuedDownload(download.id, download.object) != nil)
        var object = download.object
        object[member] = value
        #expect(QueuedDownload(download.id, object) == nil)
    }

    @Test(
        "A row that was changed, exchanged or made too large is damaged and can be deleted; the others are read",
        arguments: [
            "UPDATE download SET record = x'00' WHERE id = :one",
            "UPDATE download SET record = substr(record, 1, length(record) - 1) || x'00' WHERE id = :one",
            "UPDATE download SET record = (SELECT record FROM download WHERE id = :two) WHERE id = :one",
            "UPDATE download SET record = zeroblob(2000000) WHERE id = :one",
            "UPDATE download SET record = 'text' WHERE id = :one",
        ])
    func damaged(sql: String) throws {
        let downloads = try (1...3).map { try Self.download($0) }
        try store.downloads.write(downloads, isDurable: true)
        try store.index.write { db in
            try db.execute(sql: sql, arguments: ["one": downloads[0].id.data, "two": downloads[1].id.data])
        }
        let found = try store.downloads.all()
        #expect(found.damaged == 1 && Set(found.downloads.map(\.position)) == [2, 3])
        try store.downloads.removeAll()
        let left = try store.downloads.all()
        #expect(left.damaged == 0 && left.downloads.isEmpty)
        #expect(try store.erasure.isPending())
        try store.close()
    }

    @Test("Nothing of an entry can be read in the vault's files")
    func sealed() throws {
        try store.downloads.write(try (1...3).map { try Self.download($0) }, isDurable: true)
        try store.catalogBackup.write()
        try store.close()
        for name in ["index.sqlite", "catalog.backup"] {
            let bytes = try Data(contentsOf: URL(filePath: vault.folder + "/" + name))
            for text in ["media.example", "secret-1", "hunter2", "hunter3", "my-film", "A secret name", "k3v7q2ma"] {
                #expect(bytes.firstRange(of: Data(text.utf8)) == nil, "\(name): \(text)")
            }
        }
    }

    @Test("A cancelled entry is erased from the index and the backup")
    func erased() throws {
        let download = try Self.download(1)
        try store.downloads.write([download], isDurable: true)
        try store.catalogBackup.write()
        #expect(try !store.erasure.isPending())
        let record = try #require(try store.index.read { try Data.fetchOne($0, sql: "SELECT record FROM download") })
        try store.downloads.remove([download.id], isForgotten: true)
        #expect(try store.erasure.isPending())
        try store.erasure.carryOut()
        try store.close()
        for name in ["index.sqlite", "catalog.backup"] {
            let bytes = try Data(contentsOf: URL(filePath: vault.folder + "/" + name))
            #expect(bytes.firstRange(of: record.suffix(64)) == nil, "\(name)")
        }
    }

    @Test("A change of the locator seals the entries under the new key; one that does not open stays")
    func locator() throws {
        let downloads = try (1...3).map { try Self.download($0) }
        try store.downloads.write(downloads, isDurable: true)
        try store.index.write { db in
            try db.execute(sql: "UPDATE download SET record = x'00' WHERE id = ?", arguments: [downloads[0].id.data])
        }
        _ = try LocatorChange(store).run(noting: vault.log(of: store), queued: { _, _ in nil }) { _, _ in [:] }
        #expect(store.index.locator == 2 && store.keyring.locators == [2])
        let found = try store.downloads.all()
        #expect(found.damaged == 1 && Set(found.downloads.map(\.position)) == [2, 3])
        try store.close()
    }

    @Test("A rebuilt index has the queue of the backup")
    func rebuilt() throws {
        let downloads = try (1...3).map { try Self.download($0) }
        try store.downloads.write(downloads, isDurable: true)
        try store.close()
        try TemporaryFolder.remove(vault.folder + "/index.sqlite")
        let rebuild = try IndexRebuild(at: vault.folder, keyring: vault.keyring, evenIfSound: false)
        for byte in IndexRebuild.bytes { try rebuild.adopt(byte) }
        _ = try rebuild.finish()
        let again = try vault.open()
        let found = try again.downloads.all()
        #expect(Set(found.downloads.map(\.position)) == [1, 2, 3] && found.damaged == 0)
        try again.close()
    }

    @Test("A vault without the table opens for readers as it is, and an owner adds the table")
    func older() throws {
        try store.close()
        for name in ["index.sqlite", "catalog.backup"] {
            let queue = try DatabaseQueue(path: vault.folder + "/" + name)
            try queue.write { try $0.execute(sql: "DROP TABLE download; PRAGMA user_version = 2") }
            try queue.close()
        }
        let reader = try vault.open(.reader)
        #expect(try reader.downloads.all().downloads.isEmpty)
        try reader.close()
        let owner = try vault.open()
        #expect(try owner.index.read { try Int.fetchOne($0, sql: "PRAGMA user_version") } == 6)
        try owner.downloads.write([try Self.download(1)], isDurable: true)
        #expect(try owner.downloads.all().downloads.count == 1)
        try owner.close()
    }

    @Test("The destruction of a vault deletes the queue")
    func destroyed() throws {
        try store.downloads.write([try Self.download(1)], isDurable: true)
        _ = try store.index.resources.removeAll()
        #expect(try store.downloads.all().downloads.isEmpty)
        try store.close()
    }

    @Test("The settings of the queue are read as they were written; impossible members count as absent")
    func settings() throws {
        var wanted = DownloadSettings()
        try wanted.setParallel(7)
        try wanted.setPerHost(5)
        try wanted.setRate(1234)
        try wanted.setLeastRate(0)
        try wanted.setLanguages(["de", "en-GB"])
        wanted.hours = try DownloadHours("22:00-06:00")
        var settings = VaultSettings()
        settings.setDownloads(wanted)
        #expect(try #require(VaultSettings(settings.object)).downloads == wanted)
        for (member, value) in [
            ("parallelDownloads", JSONValue.integer(99)), ("downloadsPerHost", .string("2")),
            ("downloadHours", .string("always")), ("downloadRate", .integer(-4)),
            ("leastRate", .integer(-1)), ("languages", .array([.string("de/")])),
        ] { settings.members[member] = value }
        #expect(settings.downloads == DownloadSettings())
        settings.setDownloads(DownloadSettings())
        #expect(settings.members.members.isEmpty)
        try store.close()
    }
}
