import Synchronization

/// A value protected by a `Mutex` that is only ever locked inside a function that is not inlined.
///
/// On Linux, Swift up to 6.3 marks a locked `Mutex` with its thread's id, which it reads from a thread-local variable.
/// If locking is inlined into an async function, the optimizer may take that variable's address before the function
/// moves to another thread (for coroutines in C++, see llvm/llvm-project issue 47179); unlocking then ends the process.
/// `Tests/Reproductions` reports when `Mutex` can replace this type. The fault is gone in a `Mutex` without thread ids,
/// as swiftlang/swift pull request 88523 implements it.
package struct Locked<Value: ~Copyable>: ~Copyable, Sendable {
    private let mutex: Mutex<Value>

    package init(_ value: consuming sending Value) { mutex = Mutex(value) }

    /// Waits for the lock, and calls `body` with the value.
    @inline(never)
    package borrowing func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        try mutex.withLock(body)
    }
}

// A closure that is the whole value is read and replaced only in these ways. ``Locked/withLock(_:)`` converts it for its
// caller and back again, and each conversion wraps it in one more closure: it would grow with each use.
extension Locked where Value: Sendable {
    /// The value.
    package var value: Value {
        @inline(never) get { mutex.withLock { $0 } }
    }

    /// Replaces the value.
    @inline(never)
    package borrowing func set(_ new: Value) { mutex.withLock { $0 = new } }
}
