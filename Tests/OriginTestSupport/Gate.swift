import Foundation
import Synchronization

/// What an origin can be made to wait at until a test opens it. Opened once, it stays open; an origin that is stopped,
/// or whose client goes away, does not wait on.
///
/// It is a pipe, so that a gate and a socket can be waited for together.
package final class Gate: Sendable {
    /// Readable, by its end, once the gate is open.
    let descriptor: Int32
    private let writeEnd: Mutex<Int32?>

    package init() {
        var ends: [Int32] = [-1, -1]
        let result = unsafe pipe(&ends)
        precondition(result == 0, "no descriptors for a pipe are left")
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        descriptor = ends[0]
        writeEnd = Mutex(ends[1])
    }

    deinit {
        open()
        close(descriptor)
    }

    package func open() {
        writeEnd.withLock { end in
            if let end { close(end) }
            end = nil
        }
    }
}
