import Synchronization

/// All exchanges of an origin, its script, and the tests that wait for the progress of an exchange.
final class ExchangeLog: Sendable {
    typealias Script = @Sendable (ScriptedRequest) -> ScriptedAnswer
    typealias Condition = @Sendable ([Exchange]) -> Bool

    private struct Watcher {
        let condition: Condition
        let continuation: CheckedContinuation<Void, Never>
    }

    private struct State {
        var script: Script
        var exchanges: [Exchange] = []
        var watchers: [Int: Watcher] = [:]
        var nextWatcher = 0
    }

    private let state: Mutex<State>

    init(script: @escaping Script) {
        state = Mutex(State(script: script))
    }

    var exchanges: [Exchange] { state.withLock { $0.exchanges } }

    func setScript(_ script: @escaping Script) { state.withLock { $0.script = script } }

    /// Records a request and looks up its answer; nil if the head is invalid.
    func record(head: String, connection: Int) -> (number: Int, answer: ScriptedAnswer)? {
        let entry: (request: ScriptedRequest, script: Script)? = state.withLock { state in
            let number = state.exchanges.count
            guard let request = ScriptedRequest(head, number: number, connection: connection) else { return nil }
            state.exchanges.append(Exchange(request: request, connection: connection))
            return (request, state.script)
        }
        guard let entry else { return nil }
        wakeWatchers()
        return (entry.request.number, entry.script(entry.request))
    }

    @discardableResult
    func update<Result: Sendable>(_ number: Int, _ change: @Sendable (inout Exchange) -> Result) -> Result {
        let result = state.withLock { change(&$0.exchanges[number]) }
        wakeWatchers()
        return result
    }

    /// Records that a connection has ended.
    func close(connection: Int) {
        state.withLock { state in
            for number in state.exchanges.indices where state.exchanges[number].connection == connection {
                state.exchanges[number].isConnectionClosed = true
            }
        }
        wakeWatchers()
    }

    /// Waits until the condition holds, or the task is cancelled.
    func wait(until condition: @escaping Condition) async {
        let watcher = state.withLock { state in
            state.nextWatcher += 1
            return state.nextWatcher
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let holds = state.withLock { state in
                    let holds = Task.isCancelled || condition(state.exchanges)
                    if !holds { state.watchers[watcher] = Watcher(condition: condition, continuation: continuation) }
                    return holds
                }
                if holds { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.watchers.removeValue(forKey: watcher) }?.continuation.resume()
        }
    }

    private func wakeWatchers() {
        let woken = state.withLock { state in
            let woken = state.watchers.filter { $0.value.condition(state.exchanges) }
            for watcher in woken.keys { state.watchers[watcher] = nil }
            return woken.values.map(\.continuation)
        }
        for continuation in woken { continuation.resume() }
    }
}
