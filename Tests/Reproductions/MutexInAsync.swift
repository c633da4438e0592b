// Shows whether a Mutex may be locked in the body of an async function: prints "sound", or ends with a trap.
//
// Swift up to 6.3 for Linux marks a locked Mutex with the id of its thread, which it reads from a thread-local
// variable. Both branches of `count` lock the Mutex, so the optimizer takes the address of that variable once, before
// the function leaves the main thread. Then the Mutex is locked with the id of the main thread, and unlocking it ends
// the process. Compiled with -D LOCKED, it shows that `Locked` prevents that.
import Synchronization

final class Counter: Sendable {
    #if LOCKED
    let value = Locked(0)
    #else
    let value = Mutex(0)
    #endif
}

struct Refusal: Error {}

/// Runs on the main thread, whose id it makes known by locking.
@MainActor @inline(never) @_semantics("optimize.sil.specialize.generic.never")
func pass<Value: Sendable>(_ value: Value, over counter: Counter, failing: Bool) async throws -> Value {
    counter.value.withLock { $0 += 1 }
    if failing { throw Refusal() }
    return value
}

/// Runs on another thread after `pass`.
@concurrent @inline(never)
func count(_ counter: Counter, failing: Bool) async throws {
    do {
        let one = try await pass(1, over: counter, failing: failing)
        counter.value.withLock { $0 += one }
    } catch {
        counter.value.withLock { $0 += 1 }
        throw error
    }
}

@main enum MutexInAsync {
    static func main() async {
        let counter = Counter()
        for failing in [false, true] { try? await count(counter, failing: failing) }
        print(counter.value.withLock { $0 } == 4 ? "sound" : "wrong")
    }
}
