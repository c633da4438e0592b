import Foundation
import GRDB
import VaultCrypto
package import VaultModel

/// Rewraps every resource key of a vault under the current generation, step by step. No media is read or written.
///
/// Completed steps are kept: an interrupted rewrap is started again and continues with the rest.
package struct Rewrap: Sendable {
    /// The number of keys to rewrap, as known at the beginning.
    package let total: Int
    /// The number of keys that were rewrapped.
    package private(set) var done = 0
    /// The number of keys that do not open: they stay as they are, and still need their generation.
    package private(set) var unopened: Int
    /// The number of resources whose keys under other generations were all rewrapped. A resource can have several keys.
    package var resources: Int { resourcesTotal - stuck.count }
    /// The outcome for the receipt, once the rewrap has ended.
    package var outcome: Receipt.Outcome { unopened == 0 ? .done : .partly }

    private let resourcesTotal: Int
    /// Resources with a key that does not open.
    private var stuck: Set<ResourceID> = []
    private let store: VaultStore
    private let current: Int
    private var waiting: [Int]
    private var last: WrappedKey?

    /// The number of rows in a transaction: this many delay playback by some hundredths of a second.
    private static let pageSize = 2000

    init(_ store: VaultStore) throws {
        self.store = store
        current = store.keyring.currentGeneration
        (total, resourcesTotal, unopened) = try store.index.keyCount(notWrappedBy: current)
        waiting = try store.index.generations().all.filter { $0 != store.keyring.currentGeneration }
    }

    /// Rewraps the next keys. Blocks.
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
            if let new = try rewrapped(old) {
                wrapped.append(new)
            } else {
                unopened += 1
                stuck.insert(old.resource)
            }
        }
        if !wrapped.isEmpty {
            store.noteChange()
            try store.withDiskSpace { try store.index.replace(wrapped, generation: current) }
        }
        done += wrapped.count
        return !waiting.isEmpty
    }

    /// Returns a key wrapped under the current generation; nil if it does not open.
    private func rewrapped(_ old: WrappedKey) throws -> WrappedKey? {
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
    /// Returns resource keys that a generation wraps, in the order of resources and numbers, after the given one.
    func keys(wrappedBy generation: Int, after last: WrappedKey?, limit: Int) throws -> [WrappedKey] {
        try read { db in
            let rows = try Row.fetchAll(
                db,
                sql: """
                    SELECT resource, number, wrapped FROM resourceKey
                    WHERE generation = ? AND (resource, number) > (?, ?) AND \(PlainColumn.isResourceKey) \
                    ORDER BY resource, number LIMIT ?
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

    /// Replaces keys with their rewrapped form; keys that were deleted since stay deleted.
    ///
    /// A power loss may undo this: both forms open, and no generation is removed before the log was emptied.
    func replace(_ keys: [WrappedKey], generation: Int) throws {
        try writeWithoutSync { db in
            let statement = try db.makeStatement(
                sql: """
                    UPDATE resourceKey SET generation = ?, wrapped = ? \
                    WHERE resource = ? AND number = ? AND generation = ?
                    """)
            for key in keys {
                try statement.execute(arguments: [
                    generation, key.wrapped.data, key.resource.data, key.number, key.generation,
                ])
            }
            try Self.requireErasure(db)
        }
    }

    /// Counts the resource keys that a generation does not wrap, their resources, and the impossible rows among them.
    ///
    /// ``keys(wrappedBy:after:limit:)`` returns none of the impossible rows.
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

/// A resource key as its row stores it: sealed under the wrapping key of a generation.
struct WrappedKey: Hashable, Sendable {
    let resource: ResourceID
    let number: Int
    let generation: Int
    var wrapped: [UInt8]
}
