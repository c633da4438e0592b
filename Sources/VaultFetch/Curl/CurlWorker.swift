import CCurl
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
