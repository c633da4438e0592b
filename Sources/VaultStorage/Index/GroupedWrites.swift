import GRDB
import VaultModel

/// Groups writes that wait for the connection at the same time, and makes them durable with one sync.
///
/// The first thread to get the connection runs the waiting writes in one transaction, each in its own savepoint. No
/// write returns before the transaction is durable. If the database abandons the transaction, each write runs again in
/// a transaction of its own.
final class GroupedWrites: Sendable {
    /// One write and its outcome. The outcome is set once, by the thread that has the connection.
    private final class Write: Sendable {
        let body: @Sendable (Database) throws -> Void
        let outcome = Locked<Result<Void, any Error>?>(nil)

        init(_ body: @escaping @Sendable (Database) throws -> Void) { self.body = body }
    }

    /// The value that a write returns.
    private final class Value<Content: Sendable>: Sendable {
        let content = Locked<Content?>(nil)
    }

    private let waiting = Locked<[Write]>([])

    /// The maximum number of writes in one transaction.
    private static let most = 64

    /// Runs a write, along with other waiting writes, as soon as the connection is free.
    ///
    /// - Parameter queue: the only connection that these writes use.
    func write<Result: Sendable>(
        to queue: DatabaseQueue, _ body: @escaping @Sendable (Database) throws -> Result
    ) throws -> Result {
        let value = Value<Result>()
        let write = Write { db in
            let result = try body(db)
            value.content.withLock { $0 = result }
        }
        waiting.withLock { $0.append(write) }
        queue.writeWithoutTransaction { db in
            // Run the longest-waiting writes until this one has run, here or on another thread.
            while write.outcome.withLock({ $0 == nil }) { Self.run(take(), db) }
        }
        try write.outcome.withLock { $0 }?.get()
        guard let result = value.content.withLock({ $0 }) else { throw IndexError.damaged }
        return result
    }

    /// The number of waiting writes.
    var count: Int { waiting.withLock(\.count) }

    private func take() -> [Write] {
        waiting.withLock { waiting in
            let first = Array(waiting.prefix(Self.most))
            waiting.removeFirst(first.count)
            return first
        }
    }

    private static func run(_ writes: [Write], _ db: Database) {
        var outcomes: [Result<Void, any Error>] = []
        var isWriting = false
        do {
            try db.inTransaction(.immediate) {
                isWriting = true
                outcomes = try writes.map { write in try run(write, db) }
                isWriting = false
                return .commit
            }
        } catch  where isWriting && writes.count > 1 {
            // Nothing was written, and a single write may be to blame, so each runs alone.
            for write in writes { run([write], db) }
            return
        } catch {
            // A failed sync is not retried, because the next one might succeed although the pages were never written.
            outcomes = writes.map { _ in .failure(error) }
        }
        for (write, outcome) in zip(writes, outcomes) { write.outcome.withLock { $0 = outcome } }
    }

    /// Runs one write of a transaction. If the write throws an error of its own, the other writes are unaffected.
    ///
    /// - Throws: an error from the database, which may have ended the transaction.
    private static func run(_ write: Write, _ db: Database) throws -> Result<Void, any Error> {
        do {
            try db.inSavepoint {
                try write.body(db)
                return .commit
            }
            return .success(())
        } catch  where !(error is DatabaseError) {
            return .failure(error)
        }
    }
}
