import SeededRandom
import Testing
import VaultModel
import VaultStorage

@testable import MediaVault

@Suite("The order of the download queue")
struct DownloadListTests {
    private static func download(_ number: UInt8, at position: Int64) throws -> QueuedDownload {
        let id = try #require(DownloadID(bytes: Array(repeating: number, count: 16)))
        let title = try #require(TitleID(number.isMultiple(of: 2) ? "aaaaaaaa" : "bbbbbbbb"))
        return QueuedDownload(
            id, DownloadOrder(url: "http://a.example:81/\(number)"), title: title, added: 1, position: position)
    }

    @Test("Entries are in the order of their positions, whatever is added, moved and removed")
    func order() throws {
        var random = SeededGenerator(seed: 16)
        var list = DownloadList(try (1...5).map { try Self.download($0, at: Int64(9 - $0)) })
        var model: [UInt8: Int64] = Dictionary(uniqueKeysWithValues: (1...5).map { ($0, Int64(9 - $0)) })
        for step in 0..<500 {
            let number = UInt8.random(in: 1...20, using: &random)
            if Bool.random(using: &random) {
                let position = Int64.random(in: 0...10, using: &random)
                list.put(try Self.download(number, at: position), revision: step)
                model[number] = position
            } else {
                #expect((list.remove(try Self.download(number, at: 0).id) != nil) == (model[number] != nil))
                model[number] = nil
            }
            let expected = model.sorted { ($0.value, $0.key) < ($1.value, $1.key) }.map(\.key)
            #expect(list.inOrder.map { $0.download.id.bytes[0] } == expected)
            #expect(list.count == expected.count)
            #expect(list.firstPosition == (model.values.min() ?? 1 << 52) - 1)
            #expect(list.lastPosition == (model.values.max() ?? (1 << 52) - 1) + 1)
            let even = try #require(TitleID("aaaaaaaa"))
            #expect(list.entries(of: even).count == expected.count { $0.isMultiple(of: 2) })
        }
    }

    @Test("Many entries that are put at once have the same order as those that are put one by one")
    func manyAtOnce() throws {
        var random = SeededGenerator(seed: 18)
        let downloads = try (0..<200).map { try Self.download($0, at: Int64.random(in: 0...300, using: &random)) }
        var list = DownloadList(Array(downloads.prefix(50)))
        var model = list
        let moved = try (0..<150).map { try Self.download($0, at: Int64.random(in: 0...300, using: &random)) }
        list.put(moved, revision: 3)
        for download in moved { model.put(download, revision: 3) }
        #expect(list.inOrder.map(\.download.id) == model.inOrder.map(\.download.id) && list.count == 150)
        for title in try ["aaaaaaaa", "bbbbbbbb"].map({ try #require(TitleID($0)) }) {
            #expect(list.entries(of: title).count == 75)
        }
        #expect(list.inOrder.allSatisfy { $0.revision == 3 })
    }

    @Test("Hosts are counted as long as they have entries")
    func hosts() throws {
        var list = DownloadList(try (1...3).map { try Self.download($0, at: 1) })
        #expect(list.hostCount == 1)
        var other = try Self.download(4, at: 2)
        other.order = DownloadOrder(url: "http://b.example/4")
        list.put(other, revision: 1)
        #expect(list.hostCount == 2)
        other.order = DownloadOrder(url: "http://a.example:81/4")
        list.put(other, revision: 2)
        #expect(list.hostCount == 1)
        for entry in Array(list.inOrder) { list.remove(entry.download.id) }
        #expect(list.hostCount == 0)
    }

    @Test("Pages follow each other, also if the entry at their end has gone")
    func pages() throws {
        var list = DownloadList(try (1...9).map { try Self.download($0, at: Int64($0)) })
        let first = list.entries(after: nil, limit: 4)
        #expect(first.map(\.download.position) == [1, 2, 3, 4] && first.allSatisfy { $0.host == "a.example:81" })
        let end = try #require(first.last?.download.place)
        let cursor = try #require(DownloadCursor(DownloadCursor(end).description))
        list.remove(end.id)
        #expect(list.entries(after: cursor.place, limit: 4).map(\.download.position) == [5, 6, 7, 8])
        let last = try #require(list.entries(after: nil, limit: 99).last)
        #expect(list.entries(after: last.download.place, limit: 4).isEmpty)
        for text in [
            "", "1", "1.", "x.\(end.id.hex)", "1.\(end.id.hex).", "9007199254740992.\(end.id.hex)", "-1.\(end.id.hex)",
        ] {
            #expect(DownloadCursor(text) == nil, "\(text)")
        }
    }
}
