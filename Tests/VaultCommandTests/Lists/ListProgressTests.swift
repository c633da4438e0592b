import Testing

@testable import VaultCommand

@Suite("The progress of several titles")
struct ListProgressTests {
    private static func state() -> ListState {
        var state = ListState(count: 4)
        state.running[1] = ListState.Title(name: "first.mp4")
        state.running[2] = ListState.Title(name: "second.mp4")
        state.running[2]?.note(TransferProgress(held: 500_000, total: 2_000_000))
        state.running[2]?.note(TransferProgress(held: 1_000_000, total: 2_000_000))
        state.end(1, bytes: 2_000_000)
        return state
    }

    @Test("Each title counts the same, and what was held before does not count as arrived")
    func sentence() {
        #expect(Self.state().sentence(after: .seconds(3)) == "1 of 4 titles, 37 %, 2.5 MB, 0:05 left")
        #expect(Self.state().sentence(after: .milliseconds(900)) == "1 of 4 titles, 37 %, 2.5 MB")
        #expect(ListState(count: 4).sentence(after: .seconds(3)) == "0 of 4 titles, 0 %, 0 B")
    }

    @Test("A line names the titles that are fetched, and is always shorter than the terminal", arguments: 0...120)
    func line(_ width: Int) {
        let line = Self.state().line(after: .seconds(3), width: width)
        #expect(line.count < max(1, width))
        #expect("1 of 4 titles  37 %  2.5 MB  0:05 left  second.mp4".hasPrefix(line))
    }

    @Test("A hundred percent is shown only when the last title has ended")
    func end() {
        var state = ListState(count: 1)
        state.running[7] = ListState.Title(name: "x")
        state.running[7]?.note(TransferProgress(held: 9, total: 9))
        #expect(state.percent == 99)
        state.end(7, bytes: 9)
        #expect(state.percent == 100)
        #expect(state.secondsLeft(after: .seconds(9)) == nil)
    }
}
