import CCurl
import class Foundation.Thread
import VaultModel

#if canImport(Darwin)
import Darwin
#else
import Glibc
#endif

/// What the loop's thread owns: libcurl's handles, and the transfers under way.
final class CurlWorker {
    private let configuration: CurlConfiguration
    private let loop: CurlLoop
    private let multi: CurlMulti
    private let sockets = OpenSockets()
    private let connections = ConnectionNumbers()
    private var running: [ObjectIdentifier: CurlTransfer] = [:]
    /// Those that wait for a connection, in order. They are not silent, for nothing was asked yet.
    private var waiting: [Transfer] = []

    /// - Returns: nil where libcurl cannot be used.
    init?(_ configuration: CurlConfiguration, loop: CurlLoop) {
        guard let multi = CurlMulti() else { return nil }
        self.configuration = configuration
        self.loop = loop
        self.multi = multi
    }

    /// Works until it is told to stop.
    func run() {
        Self.blockBrokenPipes()
        loop.setWaker(multi.waker)
        while obey(loop.takeCommands()) {
            startWaiting()
            multi.perform()
            for (handle, result) in multi.ended() { end(handle, result) }
            for curl in running.values { followAtOnce(curl) }
            for curl in running.values { curl.deliver() }
            endStalled(now: .now)
            startWaiting()
            multi.poll(atMost: running.isEmpty ? .seconds(60) : min(.seconds(1), configuration.stallTimeout))
        }
        loop.setWaker(nil)
        for curl in running.values {
            multi.remove(curl.handle)
            curl.transfer.finish(CurlLoop.closed)
        }
        for transfer in waiting { transfer.finish(CurlLoop.closed) }
        (running, waiting) = ([:], [])
    }

    /// - Returns: whether to go on.
    private func obey(_ commands: [CurlLoop.Command]) -> Bool {
        var goesOn = true
        for command in commands {
            switch command {
            case .start(let transfer): waiting.append(transfer)
            case .resume(let transfer): resume(transfer)
            case .remove(let transfer):
                waiting.removeAll { $0 === transfer }
                if let curl = running.removeValue(forKey: ObjectIdentifier(transfer)) { multi.remove(curl.handle) }
            case .stop: goesOn = false
            }
        }
        return goesOn
    }

    /// Starts what waits, as far as there are connections for it. A redirect is followed in the place of what led to it.
    private func startWaiting() {
        while !waiting.isEmpty, running.count < max(1, configuration.mostConnections()) {
            let transfer = waiting.removeFirst()
            launch(transfer, Hop(transfer.request.url))
        }
    }

    private func launch(_ transfer: Transfer, _ hop: Hop) {
        guard !transfer.isCancelled else { return }
        do throws(OriginFailure) {
            let curl = try CurlTransfer(transfer, hop, configuration, sockets, connections)
            multi.bound(connections: configuration.mostConnections())
            guard multi.add(curl.handle) else { throw CurlHandle.unusable }
            running[ObjectIdentifier(transfer)] = curl
        } catch {
            transfer.finish(error)
        }
    }

    private func resume(_ transfer: Transfer) {
        guard let curl = running[ObjectIdentifier(transfer)] else { return }
        let result = curl.resume()
        if result != CURLE_OK { end(curl.handle.id, result) }
    }

    /// Follows a redirect whose body has not come along with its head: nobody wants that body.
    private func followAtOnce(_ curl: CurlTransfer) {
        guard let target = curl.redirect else { return }
        multi.remove(curl.handle)
        running[ObjectIdentifier(curl.transfer)] = nil
        launch(curl.transfer, curl.hop.following(to: target))
    }

    private func endStalled(now: ContinuousClock.Instant) {
        for (id, curl) in running {
            guard let failure = curl.stall(after: configuration.stallTimeout, now: now) else { continue }
            multi.remove(curl.handle)
            running[id] = nil
            curl.transfer.finish(failure)
        }
    }

    private func end(_ handle: CurlHandle.ID, _ result: CURLcode) {
        guard let curl = running.values.first(where: { $0.handle.id == handle }) else { return }
        multi.remove(curl.handle)
        running[ObjectIdentifier(curl.transfer)] = nil
        switch curl.outcome(of: result) {
        case .follow(let url): launch(curl.transfer, curl.hop.following(to: url))
        case .again: launch(curl.transfer, curl.hop.onFreshConnection())
        case .over(let failure): curl.transfer.finish(failure)
        }
    }

    /// libcurl is told to leave signals alone, and TLS may write to a connection that the other side has closed.
    private static func blockBrokenPipes() {
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        unsafe sigaddset(&signals, SIGPIPE)
        unsafe pthread_sigmask(SIG_BLOCK, &signals, nil)
    }
}

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

/// How a ``CurlOrigin`` asks, and how long it waits.
package struct CurlConfiguration: Sendable {
    /// What it calls itself, such as `MediaVault/1.0`. Holds no control character.
    package var userAgent: String
    /// How long finding, connecting to and greeting a server may take.
    package var connectTimeout: Duration
    /// How long a server may take for its head, and then for each byte, while somebody reads.
    package var stallTimeout: Duration
    /// Whether a host, as ``MediaURL`` spells it, may be private though somebody else than the operator led to it.
    package var allowsPrivate: @Sendable (_ host: String) -> Bool = { _ in false }
    /// The file of authorities whose certificates are trusted, in place of the system's; nil is the system's.
    package var authorities: String?
    /// How many connections there may be, those kept for later requests included; asked each time. A request beyond them
    /// waits for one.
    package var mostConnections: @Sendable () -> Int = { ConnectionShare.ofProcess }
    /// Where this process listens itself: asking there would go in a circle.
    package var ownListeners = OwnListeners()

    package init(
        userAgent: String, connectTimeout: Duration = .seconds(10), stallTimeout: Duration = .seconds(30)
    ) {
        self.userAgent = userAgent
        self.connectTimeout = connectTimeout
        self.stallTimeout = stallTimeout
    }
}
