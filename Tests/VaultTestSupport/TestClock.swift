import Synchronization

/// A wall clock that stands still until it is moved: seconds since 1970.
package final class TestClock: Sendable {
    private let seconds: Mutex<Int64>

    package init(at seconds: Int64 = 1_700_000_000) { self.seconds = Mutex(seconds) }

    package var now: Int64 { seconds.withLock { $0 } }

    package func advance(by count: Int64) { seconds.withLock { $0 += count } }
}
