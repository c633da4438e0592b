import Synchronization

/// How often segment files were opened, and how many of their bytes were read and written.
final class MediaTraffic: Sendable {
    private let opened = Atomic(0)
    private let moved = Atomic(0)

    var filesOpened: Int { opened.load(ordering: .relaxed) }
    var bytesMoved: Int { moved.load(ordering: .relaxed) }

    func noteOpening() { opened.add(1, ordering: .relaxed) }

    func note(bytes: Int) { moved.add(bytes, ordering: .relaxed) }
}
