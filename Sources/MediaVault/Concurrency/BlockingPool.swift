import DequeModule
import Dispatch
import Foundation
import VaultModel

/// Threads for blocking calls: file I/O, the index, deriving a key from a passphrase.
///
/// The pool is also an executor: a task that prefers it runs its blocking calls in place, without switching threads. A
/// Dispatch queue or NIO's thread pool cannot do that.
package final class BlockingPool: TaskExecutor, Sendable {
    private enum Work {
        case job(UnownedJob)
        case call(@Sendable () -> Void)
    }

    private let queue = Locked(Deque<Work>())
    private let available = DispatchSemaphore(value: 0)
    private let threads = Locked(Set<ThreadName>())

    /// Starts the threads, which live as long as the process.
    package init(threads count: Int) {
        for number in 0..<count {
            Thread { [self] in
                // Named from within: a name that is set from outside does not reach the kernel.
                Thread.current.name = "vault.pool.\(number)"
                serve()
            }.start()
        }
    }

    /// The process-wide pool. It has enough threads that a slow disk leaves some for other calls, and that calls
    /// waiting for the disk together share its syncs.
    package static let shared = BlockingPool(threads: max(32, ProcessInfo.processInfo.activeProcessorCount))

    /// The pool for reading and writing manifests. Each may take much memory, so the thread count limits how many run
    /// at a time.
    package static let manifests = BlockingPool(threads: 4)

    package func enqueue(_ job: consuming ExecutorJob) { add(.job(UnownedJob(job))) }

    /// Runs a call that may block: in place if this is a thread of the pool, otherwise on one of its threads.
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
            // This is the executor that the runtime gave the job to.
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
