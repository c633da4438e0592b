import Foundation
import Synchronization

/// A barrier that an origin waits at until a test opens it. Once opened, it stays open; an origin stops waiting if it
/// is stopped or if its client goes away.
///
/// A pipe, so that one call can wait for a gate and a socket.
package final class Gate: Sendable {
    /// The end of the pipe that becomes readable once the gate is open.
    let descriptor: Int32
    private let writeEnd: Mutex<Int32?>

    package init() {
        var ends: [Int32] = [-1, -1]
        let result = unsafe pipe(&ends)
        precondition(result == 0, "no descriptors are left for a pipe")
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
