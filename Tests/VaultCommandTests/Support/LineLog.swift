import Foundation
import Synchronization

/// The lines of a stream as they come, for those who wait for one.
final class LineLog: Sendable {
    private struct State {
        var lines: [String] = []
        var isAtEnd = false
        var watchers: [(condition: @Sendable (String) -> Bool, continuation: CheckedContinuation<String?, Never>)] = []
    }

    private let state = Mutex(State())

    var all: [String] { state.withLock(\.lines) }

    /// Reads to the end of the stream. Blocks.
    func read(_ handle: FileHandle) {
        var rest: [UInt8] = []
        while true {
            let data = handle.availableData
            if data.isEmpty { break }
            rest += data
            while let end = rest.firstIndex(of: 0x0A) {
                add(String(decoding: rest[..<end], as: UTF8.self))
                rest.removeSubrange(...end)
            }
        }
        if !rest.isEmpty { add(String(decoding: rest, as: UTF8.self)) }
        let left = state.withLock { state in
            state.isAtEnd = true
            defer { state.watchers = [] }
            return state.watchers
        }
        for watcher in left { watcher.continuation.resume(returning: nil) }
    }

    /// The first line, past or to come, for which the condition holds; nil where the stream ends without it.
    func first(where condition: @escaping @Sendable (String) -> Bool) async -> String? {
        await withCheckedContinuation { continuation in
            let found: String?? = state.withLock { state in
                if let line = state.lines.first(where: condition) { return line }
                if state.isAtEnd { return .some(nil) }
                state.watchers.append((condition, continuation))
                return nil
            }
            if let found { continuation.resume(returning: found) }
        }
    }

    func waitForEnd() async { _ = await first { _ in false } }

    private func add(_ line: String) {
        let met = state.withLock { state in
            state.lines.append(line)
            let met = state.watchers.filter { $0.condition(line) }
            state.watchers.removeAll { $0.condition(line) }
            return met
        }
        for watcher in met { watcher.continuation.resume(returning: line) }
    }
}
