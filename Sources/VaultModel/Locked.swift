import Synchronization

/// A value behind a `Mutex`, whose lock is taken in a function of its own.
///
/// Swift up to 6.3 for Linux marks a locked `Mutex` with the id of its thread, which it reads from a thread-local
/// variable. If locking is inlined into an async function, the optimizer may take the address of that variable before
/// the function changes threads (for coroutines in C++: llvm/llvm-project issue 47179); then unlocking ends the
/// process. `Tests/Reproductions` reports when this type can become `Mutex`: without thread ids, as swiftlang/swift
/// pull request 88523 implements it, the fault is gone.
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
