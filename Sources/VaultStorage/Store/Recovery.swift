import VaultCrypto
import VaultModel

/// Finishes what the last owner left unfinished, and what the disk had no space for.
package struct Recovery {
    private let store: VaultStore

    package init(_ store: VaultStore) { self.store = store }

    /// Finishes what the last owner left unfinished, as far as the disk has space for it.
    ///
    /// Held bytes can be played even if the disk is full, and the next owner finishes the rest.
    func run() throws {
        let steps: [() throws -> Void] = [
            store.index.database.catchUp, { try GenerationRows(store.index).restoreRetiring() },
            store.index.records.sealFormer, store.index.representations.dropFilling,
            store.removal.finish, recoverOpenSegments,
        ]
        for step in steps {
            do {
                try store.quota.reserve.withReserve(for: step)
            } catch let error as VaultError where error.code == .diskFull {
                continue
            }
        }
    }

    /// Does the work that was left pending while the disk was full, as far as possible. Called once a minute.
    package func finishPendingWork() {
        store.quota.reserve.keep()
        for id in store.removal.abandonedSegments { try? store.segments.discard(id) }
        try? store.removal.finish()
        try? store.erasure.carryOut(patience: .seconds(1))
    }

    /// Closes the segments that the last owner left open, each after its last block that opens.
    ///
    /// A segment that cannot be recovered is not a reason to refuse the vault.
    private func recoverOpenSegments() throws {
        for (segment, resource) in try SegmentRows(store.index).openSegments() {
            // If the resource does not open, nothing is known about the bytes, so nothing is deleted.
            guard let key = (try? store.index.resources.find(resource))?.keys[segment.keyNumber] else { continue }
            do {
                switch try SegmentRecovery.recover(segment, resourceKey: key.secret, in: store.segmentFiles) {
                case .recovered(let recovered): try closeRecovered(recovered)
                case .lost: try abandonUnrecoverable(segment.id)
                case .unreadable: break
                }
            } catch let error as VaultError where error.code == .diskFull {
                // The segment stays open for the next owner, with the bytes of its last commit, because a full disk can
                // still be read.
                continue
            }
        }
    }

    private func closeRecovered(_ segment: SegmentDescription) throws {
        do {
            _ = try store.quota.reserve.withReserve {
                try SegmentRows(store.index).commit(segment, closed: true, fetched: 0)
            }
        } catch let error as VaultError where error.code == .integrity {
            // Another segment now holds these bytes.
            try abandonUnrecoverable(segment.id)
        }
    }

    private func abandonUnrecoverable(_ id: SegmentID) throws {
        try store.quota.reserve.withReserve { _ = try SegmentRows(store.index).drop(id, deletesFile: true) }
        try store.removal.removeFiles(of: [id])
    }
}
