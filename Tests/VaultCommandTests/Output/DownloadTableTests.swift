import Foundation
import MediaVault
import Testing
import VaultModel
import VaultService

@testable import VaultCommand

@Suite("The table of downloads")
struct DownloadTableTests {
    private static let now: Int64 = 1_795_471_200

    private static func document(_ downloads: [String], counts: String = #""running":1,"waiting":2"#) throws
        -> DownloadsDocument
    {
        let all = #"{"damaged":0,"failed":0,"paused":0,"running":0,"waiting":0}"#
        var members = try #require(
            JSONSerialization.jsonObject(with: Data(all.utf8)) as? [String: Int])
        members.merge(
            try #require(JSONSerialization.jsonObject(with: Data("{\(counts)}".utf8)) as? [String: Int])
        ) { $1 }
        let counts = String(decoding: try JSONSerialization.data(withJSONObject: members), as: UTF8.self)
        let text = #"{"counts":\#(counts),"downloads":[\#(downloads.joined(separator: ","))],"next":null}"#
        return try JSONDecoder().decode(DownloadsDocument.self, from: Data(text.utf8))
    }

    private static func download(
        id: String = "aaaaaaaa", queued: Bool = true, state: String = "running", held: Int64 = 5, size: String = "10",
        name: String = "null",
        next: String = "null", problem: String = "null", url: String = "http://a.example/f%C3%BC.mp4"
    ) -> String {
        #"{"added":null,"attempts":0,"contentID":null,"held":\#(held),"id":"\#(id)","name":\#(name),"#
            + #""nextAttempt":\#(next),"problem":\#(problem),"queued":\#(queued),"size":\#(size),"state":"\#(state)","#
            + #""url":"\#(url)"}"#
    }

    @Test("What runs is found on later pages, too, which are read only as far as needed")
    func running() async throws {
        let names = ["paused", "running", "running", "waiting"]
        var read: [String?] = []
        let (running, counts) = try await DownloadMonitor.running { after, _ in
            read.append(after)
            let number = after.flatMap { Int($0) } ?? 0
            var page = try Self.document(
                [Self.download(id: "aaaaaaa\(Character(UnicodeScalar(UInt8(97 + number))))", state: names[number])],
                counts: #""running":2,"waiting":1,"paused":1"#)
            page.next = number < 3 ? "\(number + 1)" : nil
            return page
        }
        #expect(running.map { "\($0.id)" } == ["aaaaaaab", "aaaaaaac"] && counts.running == 2)
        #expect(read == [nil, "1", "2"])
    }

    @Test("Each download has a line with what it does, and the last line has the counts")
    func text() throws {
        let problem = #"{"detail":"no such film","status":404,"title":"Not Found"}"#
        let document = try Self.document([
            Self.download(),
            Self.download(
                id: "bbbbbbbb", state: "waiting", size: "null", name: #""A film""#, next: #""2026-11-23T22:00:40Z""#),
            Self.download(id: "cccccccc", state: "failed", held: 0, size: "2000000", problem: problem),
            Self.download(id: "dddddddd", state: "done", held: 10, problem: problem),
        ])
        #expect(
            DownloadTable(terminalWidth: nil).text(document, now: Self.now) == """
                ID        STATE          HELD    SIZE  NAME
                aaaaaaaa  running        50 %    10 B  http://a.example/fü.mp4
                bbbbbbbb  retry in 40s      -       -  A film
                cccccccc  failed          0 %  2.0 MB  http://a.example/fü.mp4: no such film
                dddddddd  done          100 %    10 B  http://a.example/fü.mp4
                queue: 1 running, 2 waiting

                """)
    }

    @Test("The queue comes first, then what else runs; what has ended is shown once, unless the title runs again")
    func order() throws {
        let document = try Self.document([
            Self.download(id: "bbbbbbbb", queued: false), Self.download(id: "cccccccc", queued: false, state: "done"),
            Self.download(id: "cccccccc", queued: false, state: "done"),
            Self.download(id: "aaaaaaaa", queued: false, state: "done"), Self.download(id: "aaaaaaaa"),
            Self.download(id: "dddddddd", state: "done"),
        ])
        let lines = DownloadTable(terminalWidth: nil).text(document, now: Self.now).split(separator: "\n")
        #expect(lines.dropFirst().dropLast().map { $0.prefix(8) } == ["aaaaaaaa", "bbbbbbbb", "cccccccc", "dddddddd"])
    }

    @Test("What waits for the hours of the queue says until when")
    func hours() throws {
        let document = try Self.document([Self.download(state: "waiting", next: #""2026-11-23T22:00:40Z""#)])
        let text = DownloadTable(terminalWidth: nil, opening: "01:00").text(document, now: Self.now)
        #expect(text.contains("until 01:00") && !text.contains("retry"))
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        let hours = try DownloadHours("01:00-06:00")
        for (time, opening) in [(3599, "01:00"), (3600, nil), (6 * 3600 - 1, nil), (6 * 3600, "01:00")] {
            #expect(hours.opening(at: Date(timeIntervalSince1970: Double(time)), in: calendar) == opening)
        }
    }

    @Test("A live line of 80 columns has a bar, the amount and the total, before it has the time left")
    func bar() {
        let progress = TransferProgress(held: 310_000_000, total: 1_400_000_000, bytesPerSecond: 12_300_000)
        let line = ProgressLine.bar("aaaaaaaa  A film with a long name", progress, width: 80, keepsBar: true)
        #expect(line.count < 80 && line.contains("[==") && line.contains("310.0 MB of 1.4 GB"))
    }

    @Test("A line is no wider than the terminal, and no name controls it")
    func width() throws {
        let document = try Self.document([Self.download(name: #""one\u001b[2J\ntwo and a very long name""#)])
        let lines = DownloadTable(terminalWidth: 50).text(document, now: Self.now).split(separator: "\n")
        #expect(lines.count == 3 && lines.allSatisfy { ListCell(String($0)).width <= 50 })
        #expect(lines[1].hasSuffix("one?[2J?two…") || lines[1].contains("one?[2J?two"))
    }

    @Test("Without downloads there is one sentence")
    func empty() throws {
        let document = try Self.document([], counts: "")
        #expect(DownloadTable(terminalWidth: 80).text(document).isEmpty)
        #expect(DownloadTable.summary(document.counts) == "the queue is empty")
        #expect(DownloadTable.counts(document.counts) == "none")
    }

    @Test("The last line of the live view has counts, bytes, speed and the time that is left, as far as they fit")
    func total() throws {
        let counts = try Self.document([]).counts
        let total = TransferProgress(held: 1_000_000, total: 3_000_000, bytesPerSecond: 500_000)
        #expect(
            DownloadMonitor.summary(total, counts, width: 100)
                == "queue: 1 running, 2 waiting  1.0 MB of 3.0 MB  500.0 kB/s  0:04 left")
        #expect(DownloadMonitor.summary(total, counts, width: 20) == "queue: 1 running, 2")
        #expect(
            DownloadMonitor.summary(total, counts, width: 45) == "queue: 1 running, 2 waiting  500.0 kB/s")
        #expect(
            DownloadMonitor.summary(TransferProgress(held: 0), counts, width: 100) == "queue: 1 running, 2 waiting")
    }
}
