import Foundation
import VaultCrypto
package import VaultModel

/// Rewraps every resource key of a vault under the current generation, step by step, and then seals every record of the
/// index under that generation. It reads and writes no media.
///
/// Completed steps are kept, so a rewrap that starts again after an interruption continues with the rest.
package struct Rewrap: Sendable {
    /// The number of keys to rewrap, counted at the start.
    package let total: Int
    /// The number of keys rewrapped so far.
    package private(set) var done = 0
    /// The number of keys and records that do not open. They are left unchanged, and still need their generations.
    package private(set) var unopened: Int
    /// The number of resources whose keys under other generations were all rewrapped. One resource can have several
    /// such keys.
    package var resources: Int { resourcesTotal - stuck.count }
    /// The outcome for the receipt, once the rewrap has ended.
    package var outcome: Receipt.Outcome { unopened == 0 ? .done : .partly }

    private let resourcesTotal: Int
    /// Resources with a key that does not open.
    private var stuck: Set<ResourceID> = []
    private let store: VaultStore
    private let current: Int
    private var waiting: [Int]
    private var last: ResourceKeyRow?
    /// The tables whose records are still to be sealed, which happens after the keys are rewrapped. `lastRecord` is the
    /// last record visited in the first of these tables.
    private var tables = SealedTable.all[...]
    private var lastRecord = Data()

    /// The number of rows in a transaction. That many rows delay playback by a few hundredths of a second.
    private static let pageSize = 2000
    private static let recordPageSize = 500

    init(_ store: VaultStore) throws {
        self.store = store
        current = store.keyring.currentGeneration
        let current = current
        (total, resourcesTotal, unopened) = try store.index.read { db in
            try ResourceKeyRow.count(notWrappedBy: current, db)
        }
        // Only generations that wrap keys are visited, not all that have a row, because a damaged index may have any
        // number of rows.
        waiting = try GenerationRows(store.index).wrappingGenerations().filter { $0 != current }
    }

    /// Rewraps the next keys or, once no keys are left, seals the next records. Blocks.
    ///
    /// - Returns: whether there may be more keys or records.
    package mutating func step() throws -> Bool {
        guard let generation = waiting.first else { return try stepThroughRecords() }
        let page = try store.index.read { [last] db in
            try ResourceKeyRow.fetch(wrappedBy: generation, after: last, limit: Self.pageSize, db)
        }
        last = page.last
        if page.count < Self.pageSize {
            waiting.removeFirst()
            last = nil
        }
        var wrapped: [(old: ResourceKeyRow, new: ResourceKeyRow)] = []
        for old in page {
            if let new = try rewrapped(old) {
                wrapped.append((old, new))
            } else {
                unopened += 1
                stuck.insert(old.resource)
            }
        }
        if !wrapped.isEmpty {
            try store.mutate { _ in try replace(wrapped) }
        }
        done += wrapped.count
        return true
    }

    /// Seals the next records under the current generation.
    private mutating func stepThroughRecords() throws -> Bool {
        guard let table = tables.first else { return false }
        let page = try store.withDiskSpace { [lastRecord] in
            try store.index.records.seal(of: table, after: lastRecord, limit: Self.recordPageSize)
        }
        if page.sealed > 0 { store.noteChange() }
        unopened += page.unopened
        lastRecord = page.last ?? Data()
        if page.last == nil { tables.removeFirst() }
        return !tables.isEmpty
    }

    /// Returns a key that is rewrapped under the current generation; nil if the key does not open.
    private func rewrapped(_ old: ResourceKeyRow) throws -> ResourceKeyRow? {
        guard let key = try old.key(store.keyring) else { return nil }
        return try ResourceKeyRow(
            wrapping: key.secret, of: old.resource, number: old.number, generation: current, store.keyring)
    }

    /// Replaces keys with their rewrapped forms.
    ///
    /// A power loss may undo this, which does no harm, because both forms open, and no generation is removed before the
    /// log is emptied.
    private func replace(_ keys: [(old: ResourceKeyRow, new: ResourceKeyRow)]) throws {
        try store.index.writeWithoutSync { db in
            for (old, new) in keys { try new.replace(old, db) }
            try PendingErasure.record(db)
        }
    }
}
