import HummingbirdCore
import Logging
import NIOCore

/// A connection whose requests are answered on its own event loop.
struct EventLoopChannel<Base: ServerChildChannel>: ServerChildChannel where Base.Value == HTTP1Channel.Value {
    typealias Value = Base.Value

    let base: Base

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        base.setup(channel: channel, logger: logger)
    }

    func handle(value: Value, logger: Logger) async {
        await withTaskExecutorPreference(EventLoopExecutor(value.channel.eventLoop)) {
            await base.handle(value: value, logger: logger)
        }
    }
}

/// Runs tasks on an event loop.
///
/// Work that a connection's bytes trigger then starts without a thread switch. Nothing that blocks may run here. Access
/// to files and the index, and deriving keys from passphrases, belong on the vault's pool.
final class EventLoopExecutor: TaskExecutor, Sendable {
    private let eventLoop: any EventLoop

    init(_ eventLoop: any EventLoop) { self.eventLoop = eventLoop }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        eventLoop.execute { [self] in
            // The job must run on the executor that the runtime chose.
            unsafe job.runSynchronously(on: asUnownedTaskExecutor())
        }
    }
}
