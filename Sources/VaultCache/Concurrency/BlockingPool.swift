import DequeModule
import Dispatch
import Foundation
import VaultModel

/// Threads for blocking calls, such as file I/O, access to the index, and deriving a key from a passphrase.
///
/// The pool is also a task executor: a task that prefers it makes its blocking calls in place, without switching
/// threads. Neither a Dispatch queue nor NIO's thread pool can do that.
package final class BlockingPool: TaskExecutor, Sendable {
    private enum Work {
        case job(UnownedJob)
        case call(@Sendable () -> Void)
    }

    private let queue = Locked(Deque<Work>())
    private let available = DispatchSemaphore(value: 0)
    private let threads = Locked(Set<ThreadName>())

    /// Starts the threads, which live as long as the process.
    init(threads count: Int) {
        for number in 0..<count {
            Thread { [self] in
                // The name is set from within the thread, because a name set from outside does not reach the kernel.
                Thread.current.name = "vault.pool.\(number)"
                serve()
            }.start()
        }
    }

    /// The process-wide pool. It has enough threads that a slow disk still leaves some for other calls, and that calls
    /// waiting for the disk at the same time can share its syncs.
    package static let shared = BlockingPool(threads: max(32, ProcessInfo.processInfo.activeProcessorCount))

    /// The pool for reading and writing manifests. Each manifest may need much memory, so the thread count limits how
    /// many are handled at a time.
    package static let manifests = BlockingPool(threads: 4)

    package func enqueue(_ job: consuming ExecutorJob) { add(.job(UnownedJob(job))) }

    /// Runs a call that may block: in place if the current thread belongs to the pool, otherwise on one of the pool's
    /// threads.
    package func run<Result: Sendable>(_ call: @escaping @Sendable () throws -> Result) async throws -> Result {
        if threads.withLock({ $0.contains(ThreadName.current) }) { return try call() }
        return try await withCheckedThrowingContinuation { continuation in
            add(.call { continuation.resume(with: Swift.Result { try call() }) })
        }
    }

    private func add(_ work: Work) {
        queue.withLock { $0.append(work) }
        available.signal()
    }

    private func serve() {
        threads.withLock { _ = $0.insert(ThreadName.current) }
        while true {
            available.wait()
            switch queue.withLock({ $0.popFirst() }) {
            // This pool is the executor to which the runtime gave the job.
            case .job(let job): unsafe job.runSynchronously(on: asUnownedTaskExecutor())
            case .call(let call): call()
            case nil: break
            }
        }
    }
}

/// The identity of a thread.
private struct ThreadName: Hashable, Sendable {
    private let number: UInt

    static var current: ThreadName {
        #if canImport(Darwin)
        unsafe ThreadName(number: UInt(bitPattern: pthread_self()))
        #else
        ThreadName(number: UInt(pthread_self()))
        #endif
    }
}
