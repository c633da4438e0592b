import CSodium
import Foundation
import VaultModel

/// Records whether the memory that holds secrets could be locked to keep it out of swap.
///
/// `sodium_malloc` does not report a failure to lock its memory; only `sodium_mlock` does, so its result decides.
package final class MemoryLock: Sendable {
    /// The instance that serves all secrets in the process.
    package static let shared = MemoryLock()

    private struct State {
        var refusal: MemoryLockFailure?
        var listeners = NumberedSet<AsyncStream<MemoryLockFailure>.Continuation>()
    }

    private let state = Locked(State())

    /// The system's first refusal to lock memory; nil if it has not refused so far.
    package var refusal: MemoryLockFailure? { state.withLock { $0.refusal } }

    /// Returns a stream that yields the first refusal, then ends.
    ///
    /// The stream yields at once if the system has already refused, or else when it first refuses.
    package func refusals() -> AsyncStream<MemoryLockFailure> {
        let (stream, continuation) = AsyncStream.makeStream(of: MemoryLockFailure.self)
        let (known, listener) = state.withLock { state in
            (state.refusal, state.refusal == nil ? state.listeners.add(continuation) : 0)
        }
        if let known {
            continuation.yield(known)
            continuation.finish()
        } else {
            continuation.onTermination = { [self] _ in state.withLock { $0.listeners.remove(listener) } }
        }
        return stream
    }

    /// Locks memory so that it reaches neither swap nor core files.
    ///
    /// If the system refuses, the refusal is recorded and the memory is used unlocked.
    func lock(_ address: UnsafeMutableRawPointer, _ byteCount: Int) {
        // The caller owns this memory, and all of it is mapped.
        guard unsafe sodium_mlock(address, byteCount) != 0 else { return }
        note(MemoryLockFailure(errno: errno, limit: Self.limit))
    }

    func note(_ refusal: MemoryLockFailure) {
        let told: [AsyncStream<MemoryLockFailure>.Continuation] = state.withLock { state in
            guard state.refusal == nil else { return [] }
            state.refusal = refusal
            return state.listeners.removeAll()
        }
        for listener in told {
            listener.yield(refusal)
            listener.finish()
        }
    }

    /// The number of bytes that the process may lock; nil if there is no limit, or if the limit cannot be queried.
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

/// The system's refusal to lock the memory of secrets.
package struct MemoryLockFailure: Hashable, Sendable, CustomStringConvertible {
    /// The system's error number.
    let errno: Int32
    /// The number of bytes that the process may lock; nil if there is no limit, or if the limit is unknown.
    let limit: Int64?

    /// A sentence without a full stop that states what happened and how to remedy it.
    package var description: String {
        let bound = limit.map { " (the limit is \($0 >> 10) KiB)" } ?? " (error \(errno))"
        return "keys cannot be locked in memory\(bound) and may be written to a swap device; raise the limit "
            + "(LimitMEMLOCK= in a systemd unit, ulimit -l) or turn swap off"
    }
}

/// Determines whether the memory of a process may be written to a swap device.
package enum SwapStatus {
    /// Whether the memory of this process may be written to a swap device.
    package static var isOpen: Bool {
        isOpen(
            swaps: read("/proc/swaps"),
            limits: groups(of: read("/proc/self/cgroup")).map { read("/sys/fs/cgroup\($0)/memory.swap.max") })
    }

    /// Decides from the contents of the system's files whether memory may be written to a swap device.
    ///
    /// - Parameters:
    ///   - swaps: the contents of `/proc/swaps`, which has a heading line and one line for each device.
    ///   - limits: the contents of `memory.swap.max` for each control group that the process is in.
    static func isOpen(swaps: String, limits: [String]) -> Bool {
        swaps.split(separator: "\n").count > 1
            && !limits.contains { $0.trimmingCharacters(in: .whitespacesAndNewlines) == "0" }
    }

    /// Returns the control groups that a process is in, innermost first, from `/proc/self/cgroup` (version 2).
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

    /// Returns the contents of a system file; empty if the file does not exist, as on systems other than Linux.
    private static func read(_ path: String) -> String { (try? String(contentsOfFile: path, encoding: .utf8)) ?? "" }
}
