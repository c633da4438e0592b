import Synchronization

/// A value behind a `Mutex`, whose lock is taken in a function of its own.
///
/// If Swift 6.3 on Linux inlines the locking of a `Mutex` into an async function, the mutex may be locked with the id
/// of the thread that the function ran on before it changed threads; unlocking it then ends the process.
package struct Locked<Value: ~Copyable>: ~Copyable, Sendable {
    private let mutex: Mutex<Value>

    package init(_ value: consuming sending Value) { mutex = Mutex(value) }

    /// Calls `body` with the value, after waiting for the lock.
    @inline(never)
    package borrowing func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        try mutex.withLock(body)
    }
}
