import SeededRandom
import Testing

@testable import VaultCommand

@Suite("The titles that are fetched at a time")
struct FetchScheduleTests {
    /// Begins every title that may begin.
    private static func begin(_ schedule: inout FetchSchedule) -> [Int] {
        var begun: [Int] = []
        while let number = schedule.begin() { begun.append(number) }
        return begun
    }

    @Test(
        "Three titles begin, two of one host, and the hosts take turns",
        arguments: [
            ("a", [0]), ("aa", [0, 1]), ("aaaa", [0, 1]), ("aaab", [0, 3, 1]), ("abcd", [0, 1, 2]), ("", []),
        ])
    func usual(_ hosts: String, _ begun: [Int]) {
        var schedule = FetchSchedule(hosts.map(String.init))
        #expect(Self.begin(&schedule) == begun)
    }

    @Test("The user's number holds for one host, too")
    func chosen() {
        var schedule = FetchSchedule(Array(repeating: "a", count: 20), most: 16)
        #expect(Self.begin(&schedule) == Array(0..<16))
        schedule.end(host: "a")
        #expect(Self.begin(&schedule) == [16])
    }

    @Test("A host that has as many as it may gets its turn when one of them ends")
    func turns() {
        var schedule = FetchSchedule(["a", "a", "a", "b"])
        #expect(Self.begin(&schedule) == [0, 3, 1])
        schedule.end(host: "b")
        #expect(Self.begin(&schedule) == [])
        schedule.end(host: "a")
        #expect(Self.begin(&schedule) == [2])
    }

    @Test("Every title begins once, in the order of its host, and the bounds always hold")
    func property() {
        let seed = UInt64.random(in: 0 ... .max)
        print("FetchScheduleTests.property: seed \(seed)")
        var random = SeededGenerator(seed: seed)
        for _ in 0..<200 {
            let hosts = (0..<Int.random(in: 0...60, using: &random)).map { _ in
                String(Int.random(in: 0...4, using: &random))
            }
            let most = Bool.random(using: &random) ? Int.random(in: 1...16, using: &random) : nil
            var schedule = FetchSchedule(hosts, most: most)
            var (running, begun): ([Int], [Int]) = ([], [])
            repeat {
                let new = Self.begin(&schedule)
                running += new
                begun += new
                #expect(running.count <= most ?? 3)
                let perHost = Dictionary(grouping: running) { hosts[$0] }.values.map(\.count).max() ?? 0
                #expect(perHost <= most ?? 2, "seed \(seed)")
                guard !running.isEmpty else { break }
                let ended = running.remove(at: Int.random(in: 0..<running.count, using: &random))
                schedule.end(host: hosts[ended])
            } while true
            #expect(begun.sorted() == Array(hosts.indices), "seed \(seed)")
            for host in Set(hosts) {
                let ofHost = begun.filter { hosts[$0] == host }
                #expect(ofHost == ofHost.sorted(), "seed \(seed)")
            }
        }
    }
}
