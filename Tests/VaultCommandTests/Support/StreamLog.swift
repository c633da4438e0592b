import Foundation
import OriginTestSupport
import Synchronization

/// The output of a stream, for tests that wait for a part of it.
final class StreamLog: Sendable {
    typealias Condition = @Sendable (String) -> Bool

    private struct Watcher {
        /// Nil waits for the end.
        let condition: Condition?
        let continuation: CheckedContinuation<Bool, Never>
    }

    private struct State {
        var bytes: [UInt8] = []
        var isAtEnd = false
        var watchers: [Watcher] = []

        var text: String { String(decoding: bytes, as: UTF8.self) }
    }

    private let state = Mutex(State())

    var bytes: [UInt8] { state.withLock(\.bytes) }
    var text: String { state.withLock(\.text) }

    /// Reads the stream to its end, on its own thread.
    init(_ handle: FileHandle) {
        Thread.detachNewThread { [self] in
            while true {
                let bytes = handle.nextBytes()
                if bytes.isEmpty { break }
                add(bytes)
            }
            end()
        }
    }

    /// Waits until the condition holds for all text so far; false if the stream ends first.
    func wait(until condition: @escaping Condition) async -> Bool { await wait(for: condition) }

    func waitForEnd() async { _ = await wait(for: nil) }

    private func wait(for condition: Condition?) async -> Bool {
        await withCheckedContinuation { continuation in
            let met: Bool? = state.withLock { state in
                if let condition, condition(state.text) { return true }
                if state.isAtEnd { return false }
                state.watchers.append(Watcher(condition: condition, continuation: continuation))
                return nil
            }
            if let met { continuation.resume(returning: met) }
        }
    }

    private func add(_ bytes: [UInt8]) {
        let met = state.withLock { state in
            state.bytes += bytes
            // The text is built only if a test searches it.
            guard state.watchers.contains(where: { $0.condition != nil }) else { return [] as [Watcher] }
            let text = state.text
            let firstMet = state.watchers.partition { $0.condition?(text) == true }
            defer { state.watchers.removeSubrange(firstMet...) }
            return Array(state.watchers[firstMet...])
        }
        for watcher in met { watcher.continuation.resume(returning: true) }
    }

    private func end() {
        let left = state.withLock { state in
            state.isAtEnd = true
            defer { state.watchers = [] }
            return state.watchers
        }
        for watcher in left { watcher.continuation.resume(returning: false) }
    }
}
