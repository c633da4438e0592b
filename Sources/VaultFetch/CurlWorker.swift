import CCurl
import Foundation
package import VaultModel

#if canImport(Darwin)
import Darwin
#else
import Glibc
#endif

/// The objects that belong to the loop's thread: libcurl's handles, and the transfers in progress.
final class CurlWorker {
    private let configuration: CurlConfiguration
    private let loop: CurlLoop
    private let multi: CurlMulti
    private let sockets = OpenSockets()
    private let connections = ConnectionNumbers()
    private var running: [ObjectIdentifier: CurlTransfer] = [:]
    /// The transfers that wait for a connection, in order. They cannot stall, because their requests are not yet sent.
    private var waiting: [Transfer] = []

    /// Creates the worker; nil if libcurl cannot be used.
    init?(_ configuration: CurlConfiguration, loop: CurlLoop) {
        guard let multi = CurlMulti() else { return nil }
        self.configuration = configuration
        self.loop = loop
        self.multi = multi
    }

    /// Runs the loop until a command stops it.
    func run() {
        Self.blockBrokenPipes()
        loop.setWaker(multi.waker)
        while obey(loop.takeCommands()) {
            startWaiting()
            multi.perform()
            for (handle, result) in multi.ended() { end(handle, result) }
            for curl in running.values { followRedirect(curl) }
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

    /// Executes the commands.
    ///
    /// - Returns: whether the loop continues.
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

    /// Starts waiting transfers while connections are available. The hop that follows a redirect replaces the one
    /// before it, and never waits.
    private func startWaiting() {
        while !waiting.isEmpty, running.count < max(1, configuration.maxConnections()) {
            let transfer = waiting.removeFirst()
            launch(transfer, Hop(transfer.request.url))
        }
    }

    private func launch(_ transfer: Transfer, _ hop: Hop) {
        guard !transfer.isCancelled else { return }
        do throws(OriginFailure) {
            let curl = try CurlTransfer(transfer, hop, configuration, sockets, connections)
            multi.bound(connections: configuration.maxConnections())
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

    /// Follows a redirect without waiting for its body, which is not used.
    private func followRedirect(_ curl: CurlTransfer) {
        guard let target = curl.redirect else { return }
        multi.remove(curl.handle)
        running[ObjectIdentifier(curl.transfer)] = nil
        launch(curl.transfer, curl.nextHop(to: target))
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
        case .follow(let url): launch(curl.transfer, curl.nextHop(to: url))
        case .again(let hop): launch(curl.transfer, hop)
        case .over(let failure): curl.transfer.finish(failure)
        }
    }

    /// Blocks SIGPIPE. libcurl is told to leave signals alone, but TLS may write to a connection that the peer has
    /// closed, which would raise the signal.
    private static func blockBrokenPipes() {
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        unsafe sigaddset(&signals, SIGPIPE)
        unsafe pthread_sigmask(SIG_BLOCK, &signals, nil)
    }
}

/// The interface to the libcurl thread, through which commands are queued and the thread is woken.
final class CurlLoop: Sendable {
    /// A command for the thread.
    enum Command {
        /// Sends the transfer's request.
        case start(Transfer)
        /// Resumes a paused transfer.
        case resume(Transfer)
        /// Drops a transfer at once.
        case remove(Transfer)
        /// Ends all transfers and the thread.
        case stop
    }

    private struct Queue {
        var commands: [Command] = []
        var waker: CurlMulti.Waker?
        var hasEnded = false
        var waitingForEnd: [CheckedContinuation<Void, Never>] = []
    }

    private let queue = Locked(Queue())

    /// Starts the thread. If libcurl cannot be used, the thread ends at once and every transfer fails.
    init(_ configuration: CurlConfiguration) {
        let thread = Thread { [self] in
            CurlWorker(configuration, loop: self)?.run()
            end()
        }
        thread.name = "origin"
        thread.start()
    }

    /// Queues a command for the thread.
    func post(_ command: Command) {
        let hasEnded = queue.withLock { queue in
            guard !queue.hasEnded else { return true }
            // The thread takes all commands at once, so only the first one has to wake it. The waker is called under
            // the lock, because the thread removes it under the lock before freeing the handle that it points to.
            if queue.commands.isEmpty { queue.waker?.wake() }
            queue.commands.append(command)
            return false
        }
        if hasEnded, case .start(let transfer) = command { transfer.finish(Self.closed) }
    }

    /// Waits until the thread has ended and released everything.
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

    /// Sets the waker for the thread; nil means that the thread must no longer be woken.
    func setWaker(_ waker: CurlMulti.Waker?) { queue.withLock { $0.waker = waker } }

    /// Takes the queued commands, in order.
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

    /// The failure for transfers that the thread's end interrupts, and for those that are started after it.
    static let closed = OriginFailure(.unreachable, "the network client is closed")
}

/// The configuration of a ``CurlOrigin``.
package struct CurlConfiguration: Sendable {
    /// The value of `User-Agent`, such as `MediaVault/1.0`, unless the settings have one. It contains no control
    /// character.
    package var userAgent: String
    /// The time limit for name lookup, connection and TLS handshake together.
    package var connectTimeout: Duration
    /// The time limit for the head, and then for each further byte while the reader waits for it.
    package var stallTimeout: Duration
    /// Whether a host, as ``MediaURL`` spells it, may be private even if a manifest or a redirect led to it.
    package var allowsPrivate: @Sendable (_ host: String) -> Bool = { _ in false }
    /// The settings for reaching origins, evaluated for each request and each redirect.
    package var network: @Sendable () throws(OriginFailure) -> NetworkSettings = { () throws(OriginFailure) in
        NetworkSettings()
    }
    /// The wall clock, in seconds since 1970, by which cookies expire.
    package var now: @Sendable () -> Int64 = WallClock.now
    /// The process's environment variables that name proxies.
    package var environment = ProxyEnvironment()
    /// The path of a CA certificate file to use instead of the system's; nil means the system's.
    package var authorities: String?
    /// The maximum number of connections, including those kept for later requests; evaluated for each request.
    ///
    /// A request beyond the limit waits for a connection.
    package var maxConnections: @Sendable () -> Int = { ConnectionShare.ofProcess }
    /// The ports on which this process listens, because a request to one of them would loop.
    package var ownListeners = OwnListeners()

    package init(
        userAgent: String, connectTimeout: Duration = .seconds(10), stallTimeout: Duration = .seconds(30)
    ) {
        self.userAgent = userAgent
        self.connectTimeout = connectTimeout
        self.stallTimeout = stallTimeout
    }
}
