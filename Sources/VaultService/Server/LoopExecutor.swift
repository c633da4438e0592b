import NIOCore

/// Runs tasks on an event loop, so that what a connection's bytes set going begins without a change of thread.
///
/// Nothing that blocks may run here: files, the index and keys from passphrases are the vault's pool's.
final class LoopExecutor: TaskExecutor, Sendable {
    private let eventLoop: any EventLoop

    init(_ eventLoop: any EventLoop) { self.eventLoop = eventLoop }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        eventLoop.execute { [self] in
            // The executor that the runtime asked is the one that runs the job.
            unsafe job.runSynchronously(on: asUnownedTaskExecutor())
        }
    }
}
