import Foundation
import GRDB
import VaultCrypto
package import VaultModel

/// Wraps every resource key of a vault anew under the current generation, some at a time. No media is read or written.
///
/// What it has done stays done: one that was broken off is begun again, and goes on with what is left.
package struct Rewrap: Sendable {
    /// How many keys are to be wrapped anew, as far as was known at the beginning.
    package let total: Int
    /// How many have been.
    package private(set) var done = 0
    /// How many do not open: they stay as they are, and their generation is still needed for them.
    package private(set) var unopened: Int
    /// How many resources have all that they had under other generations wrapped anew. One may have several keys.
    package var resources: Int { resourcesTotal - stuck.count }
    /// How far it went once it is at its end: what a receipt says.
    package var outcome: Receipt.Outcome { unopened == 0 ? .done : .partly }

    private let resourcesTotal: Int
    /// Resources with a key that does not open.
    private var stuck: Set<ResourceID> = []
    private let store: VaultStore
    private let current: Int
    private var waiting: [Int]
    private var last: WrappedKey?

    /// A transaction of so many rows holds up whoever plays for some hundredths of a second.
    private static let pageSize = 2000

    init(_ store: VaultStore) throws {
        self.store = store
        current = store.keyring.currentGeneration
        (total, resourcesTotal, unopened) = try store.index.keyCount(notWrappedBy: current)
        waiting = try store.index.generations().all.filter { $0 != store.keyring.currentGeneration }
    }

    /// Wraps the next keys. Blocks.
    ///
    /// - Returns: whether there may be more.
    package mutating func step() throws -> Bool {
        guard let generation = waiting.first else { return false }
        let page = try store.index.keys(wrappedBy: generation, after: last, limit: Self.pageSize)
        last = page.last
        if page.count < Self.pageSize {
            waiting.removeFirst()
            last = nil
        }
        var wrapped: [WrappedKey] = []
        for old in page {
            if let new = try anew(old) {
                wrapped.append(new)
            } else {
                unopened += 1
                stuck.insert(old.resource)
            }
        }
        if !wrapped.isEmpty {
            store.noteChange()
            try store.withDiskRoom { try store.index.replace(wrapped, generation: current) }
        }
        done += wrapped.count
        return !waiting.isEmpty
    }

    /// A key under the current generation; nil where it does not open.
    private func anew(_ old: WrappedKey) throws -> WrappedKey? {
        let keyring = store.keyring
        let opened = try keyring.unwrap(
            old.wrapped, resource: old.resource, number: old.number, generation: old.generation)
        guard let opened,
            let wrapped = try keyring.wrap(
                opened.secret, resource: old.resource, number: old.number, generation: current)
        else { return nil }
        var key = old
        key.wrapped = wrapped
        return key
    }
}

extension VaultIndex {
    /// Resource keys that a generation wraps, in the order of their resources and numbers, after the one named.
    func keys(wrappedBy generation: Int, after last: WrappedKey?, limit: Int) throws -> [WrappedKey] {
        try read { db in
            let rows = try Row.fetchAll(
                db,
                sql: """
                    SELECT resource, number, wrapped FROM resourceKey
                    WHERE generation = ? AND (resource, number) > (?, ?) AND \(PlainColumn.isResourceKey) ORDER BY resource, number LIMIT ?
                    """,
                arguments: [generation, last?.resource.data ?? Data(), last?.number ?? 0, limit])
            return try rows.map { row in
                guard let resource = ResourceID(try row.column("resource")) else { throw IndexError.damaged }
                return WrappedKey(
                    resource: resource, number: try row.column("number"), generation: generation,
                    wrapped: Array(try row.column("wrapped") as Data))
            }
        }
    }

    /// Puts keys that were wrapped anew in the place of what they were; those that are gone meanwhile stay gone. A power
    /// loss may take it back: both open, and no generation goes before the log was emptied.
    func replace(_ keys: [WrappedKey], generation: Int) throws {
        try writeAhead { db in
            let statement = try db.makeStatement(
                sql: """
                    UPDATE resourceKey SET generation = ?, wrapped = ? WHERE resource = ? AND number = ? AND generation = ?
                    """)
            for key in keys {
                try statement.execute(arguments: [
                    generation, key.wrapped.data, key.resource.data, key.number, key.generation,
                ])
            }
            try Self.oweErasure(db)
        }
    }

    /// How many resource keys are not wrapped by a generation, of how many resources, and how many of them say what cannot
    /// be: none of those is given by ``keys(wrappedBy:after:limit:)``.
    func keyCount(notWrappedBy generation: Int) throws -> (keys: Int, resources: Int, impossible: Int) {
        try read { db in
            let row = try Row.fetchOne(
                db,
                sql: """
                    SELECT count(*) AS keys, count(DISTINCT CASE WHEN isPossible THEN resource END) AS resources,
                        count(CASE WHEN NOT isPossible THEN 1 END) AS impossible
                    FROM (SELECT resource, \(PlainColumn.isResourceKey)
                            AND generation IN (SELECT number FROM generation) AS isPossible
                        FROM resourceKey WHERE generation <> ?)
                    """, arguments: [generation])
            guard let row else { throw IndexError.damaged }
            return (try row.column("keys"), try row.column("resources"), try row.column("impossible"))
        }
    }
}

/// A resource key as its row has it: sealed under the wrapping key of a generation.
struct WrappedKey: Hashable, Sendable {
    let resource: ResourceID
    let number: Int
    let generation: Int
    var wrapped: [UInt8]
}
