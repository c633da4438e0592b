import Synchronization
import Testing
import VaultModel

@testable import VaultStorage

@Suite("Listeners are notified of changes")
struct ChangeNotifierTests {
    private func id(_ number: Int) throws -> ResourceID {
        try #require(
            ResourceID(bytes: [UInt8(number >> 8), UInt8(number & 0xFF)] + [UInt8](repeating: 7, count: 30)))
    }

    @Test("Each listener is woken for a change and receives each change once")
    func listeners() throws {
        let board = ChangeNotifier()
        let woken = Atomic<Int>(0)
        let (one, other) = (try id(1), try id(2))
        board.note(one)
        let first = board.listen { woken.add(1, ordering: .relaxed) }
        #expect(board.take(first) == ChangeNotifier.Changes())
        board.note(one)
        let second = board.listen {}
        board.note(other)
        board.note(other)
        #expect(board.take(first).resources == [one, other] && board.take(second).resources == [other])
        #expect(board.take(first).resources.isEmpty && woken.load(ordering: .relaxed) == 3)
        board.stopListening(first)
        board.note(one)
        #expect(board.take(first).resources.isEmpty && woken.load(ordering: .relaxed) == 3)
        #expect(board.take(second).resources == [one])
    }

    @Test("Only a listener that asks for it hears that resources were read, and none is woken by that")
    func access() throws {
        let board = ChangeNotifier()
        let woken = Atomic<Int>(0)
        let usual = board.listen { woken.add(1, ordering: .relaxed) }
        let curious = board.listen(hearsAccess: true) { woken.add(1, ordering: .relaxed) }
        board.noteAccess(to: [try id(1)])
        #expect(board.take(usual) == ChangeNotifier.Changes() && woken.load(ordering: .relaxed) == 0)
        #expect(board.take(curious).resources == [try id(1)])
    }

    @Test("Resources that change together wake a listener once")
    func together() throws {
        let board = ChangeNotifier()
        let woken = Atomic<Int>(0)
        let listener = board.listen { woken.add(1, ordering: .relaxed) }
        board.note([])
        board.note([try id(1), try id(2), try id(3)])
        #expect(board.take(listener).resources.count == 3 && woken.load(ordering: .relaxed) == 1)
    }

    @Test("The pending changes of a slow listener are bounded, and it learns that some are missing")
    func bound() throws {
        let board = ChangeNotifier()
        let listener = board.listen {}
        for number in 0..<ChangeNotifier.maxPending { board.note(try id(number)) }
        board.note(try id(0))
        #expect(!board.take(listener).isIncomplete)
        for number in 0...ChangeNotifier.maxPending { board.note(try id(number)) }
        let changes = board.take(listener)
        #expect(changes.isIncomplete && changes.resources.count == ChangeNotifier.maxPending)
        #expect(!board.take(listener).isIncomplete)
    }
}
