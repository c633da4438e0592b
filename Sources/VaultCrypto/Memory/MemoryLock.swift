import CSodium
import Foundation
import VaultModel

/// Whether the memory that secrets lie in could be locked, so that it never reaches a swap device.
///
/// `sodium_malloc` locks or silently does not; `sodium_mlock` alone says which, and decides here.
package final class MemoryLock: Sendable {
    /// The one that all secrets of the process count by.
    package static let shared = MemoryLock()

    private struct State {
        var refusal: MemoryLockRefusal?
        var lastListener = 0
        var listeners: [Int: AsyncStream<MemoryLockRefusal>.Continuation] = [:]
    }

    private let state = Locked(State())

    /// What the system refused first; nil where it has locked everything.
    package var refusal: MemoryLockRefusal? { state.withLock { $0.refusal } }

    /// Tells the refusal once: at once where there was one already, else when there is. Then the stream ends.
    package func refusals() -> AsyncStream<MemoryLockRefusal> {
        let (stream, continuation) = AsyncStream.makeStream(of: MemoryLockRefusal.self)
        let (known, listener) = state.withLock { state in
            state.lastListener += 1
            if state.refusal == nil { state.listeners[state.lastListener] = continuation }
            return (state.refusal, state.lastListener)
        }
        if let known {
            continuation.yield(known)
            continuation.finish()
        } else {
            continuation.onTermination = { [self] _ in
                state.withLock { _ = $0.listeners.removeValue(forKey: listener) }
            }
        }
        return stream
    }

    /// Locks memory, and keeps it out of core files. Where the system refuses, that is noted; the memory serves all the
    /// same.
    func lock(_ address: UnsafeMutableRawPointer, _ byteCount: Int) {
        // The caller's own memory, all of it mapped.
        guard unsafe sodium_mlock(address, byteCount) != 0 else { return }
        note(MemoryLockRefusal(errno: errno, limit: Self.limit))
    }

    func note(_ refusal: MemoryLockRefusal) {
        let told: [AsyncStream<MemoryLockRefusal>.Continuation] = state.withLock { state in
            guard state.refusal == nil else { return [] }
            state.refusal = refusal
            defer { state.listeners = [:] }
            return Array(state.listeners.values)
        }
        for listener in told {
            listener.yield(refusal)
            listener.finish()
        }
    }

    /// How many bytes the process may lock; nil where there is no limit, or none that can be asked for.
    private static var limit: Int64? {
        var limit = rlimit()
        #if canImport(Glibc)
        let result = unsafe getrlimit(__rlimit_resource_t(__RLIMIT_MEMLOCK.rawValue), &limit)
        #else
        let result = unsafe getrlimit(RLIMIT_MEMLOCK, &limit)
        #endif
        return result == 0 ? Int64(exactly: limit.rlim_cur) : nil
    }
}

/// That memory for secrets could not be locked: why, and what to do.
package struct MemoryLockRefusal: Hashable, Sendable, CustomStringConvertible {
    /// What the system said.
    let errno: Int32
    /// How many bytes the process may lock; nil where there is no limit, or it is not known.
    let limit: Int64?

    /// A sentence without a full stop, the remedy included.
    package var description: String {
        let bound = limit.map { " (the limit is \($0 >> 10) KiB)" } ?? " (error \(errno))"
        return "keys cannot be locked in memory\(bound) and may be written to a swap device; raise the limit "
            + "(LimitMEMLOCK= of a unit, ulimit -l) or turn swap off"
    }
}

/// Whether what a process has in memory may be written to a swap device.
package enum SwapStatus {
    /// Whether this process's memory may be.
    package static var isOpen: Bool {
        isOpen(
            swaps: read("/proc/swaps"),
            limits: groups(of: read("/proc/self/cgroup")).map { read("/sys/fs/cgroup\($0)/memory.swap.max") })
    }

    /// Decides by what the system says.
    ///
    /// - Parameters:
    ///   - swaps: `/proc/swaps`: a line of headings, and one for each device.
    ///   - limits: what `memory.swap.max` says of each control group that the process is in.
    static func isOpen(swaps: String, limits: [String]) -> Bool {
        swaps.split(separator: "\n").count > 1
            && !limits.contains { $0.trimmingCharacters(in: .whitespacesAndNewlines) == "0" }
    }

    /// The control groups that a process is in, its own first, as `/proc/self/cgroup` has them (version 2).
    static func groups(of file: String) -> [String] {
        guard let line = file.split(separator: "\n").first(where: { $0.hasPrefix("0::/") }) else { return [] }
        var parts = line.dropFirst(4).split(separator: "/")
        var groups: [String] = []
        while !parts.isEmpty {
            groups.append("/" + parts.joined(separator: "/"))
            parts.removeLast()
        }
        return groups
    }

    /// What a file of the system says; nothing where there is none, as on other systems than Linux.
    private static func read(_ path: String) -> String { (try? String(contentsOfFile: path, encoding: .utf8)) ?? "" }
}
