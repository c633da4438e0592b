import VaultModel

import class Foundation.Thread

/// The way to the thread on which libcurl runs: commands go into a queue, and the thread is woken.
final class CurlLoop: Sendable {
    /// What the thread is asked to do.
    enum Command {
        /// Send the transfer's request.
        case start(Transfer)
        /// Go on with a transfer that was paused.
        case resume(Transfer)
        /// Drop a transfer at once.
        case remove(Transfer)
        /// End all transfers, and the thread.
        case stop
    }

    private struct Queue {
        var commands: [Command] = []
        var waker: CurlMulti.Waker?
        var hasEnded = false
        var waitingForEnd: [CheckedContinuation<Void, Never>] = []
    }

    private let queue = Locked(Queue())

    /// Begins the thread. Where libcurl cannot be used it ends at once, and every transfer fails.
    init(_ configuration: CurlConfiguration) {
        let thread = Thread { [self] in
            CurlWorker(configuration, loop: self)?.run()
            end()
        }
        thread.name = "origin"
        thread.start()
    }

    /// Hands a command to the thread.
    func post(_ command: Command) {
        let hasEnded = queue.withLock { queue in
            guard !queue.hasEnded else { return true }
            // The thread takes all commands at once, so only the first has to wake it. Under the lock, as the thread
            // takes the waker away under it before it frees what the waker points to.
            if queue.commands.isEmpty { queue.waker?.wake() }
            queue.commands.append(command)
            return false
        }
        if hasEnded, case .start(let transfer) = command { transfer.finish(Self.closed) }
    }

    /// Waits until the thread has let go of everything.
    func waitForEnd() async {
        await withCheckedContinuation { continuation in
            let hasEnded = queue.withLock { queue in
                if !queue.hasEnded { queue.waitingForEnd.append(continuation) }
                return queue.hasEnded
            }
            if hasEnded { continuation.resume() }
        }
    }

    // MARK: For the thread

    /// Lets the thread be woken by `waker` from now on; with nil never again.
    func setWaker(_ waker: CurlMulti.Waker?) { queue.withLock { $0.waker = waker } }

    /// The commands that have come, in order.
    func takeCommands() -> [Command] {
        queue.withLock { queue in
            defer { queue.commands = [] }
            return queue.commands
        }
    }

    private func end() {
        let (commands, waiting) = queue.withLock { queue in
            queue.hasEnded = true
            defer { (queue.commands, queue.waitingForEnd) = ([], []) }
            return (queue.commands, queue.waitingForEnd)
        }
        for case .start(let transfer) in commands { transfer.finish(Self.closed) }
        for continuation in waiting { continuation.resume() }
    }

    /// What transfers meet that come too late.
    static let closed = OriginFailure(.unreachable, "the network client is closed")
}
