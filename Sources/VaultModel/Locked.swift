import Synchronization

/// A value that one thread at a time gets at: `Mutex`, taken by a call of its own.
///
/// Swift 6.3 for Linux, where it puts the taking of a `Mutex` into an async function, may take it in the name of the thread
/// that the function was on before it changed threads; giving it back then ends the process.
package struct Locked<Value: ~Copyable>: ~Copyable, Sendable {
    private let mutex: Mutex<Value>

    package init(_ value: consuming sending Value) { mutex = Mutex(value) }

    /// Gets at the value, and waits for whoever has it.
    @inline(never)
    package borrowing func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        try mutex.withLock(body)
    }
}
