import VaultCrypto
package import VaultModel

/// The files in `segments` that have no row in the index, or a wrong one.
package struct UnindexedFiles {
    private let store: VaultStore

    package init(_ store: VaultStore) { self.store = store }

    /// Returns the files in the folder for segment ids that begin with `byte`, except those that the index knows.
    ///
    /// - Returns: the ids of files that are named like segments, and the other names, which no segment has.
    package func names(in byte: UInt8) throws -> (segments: [SegmentID], others: [String]) {
        let names: [String]
        do throws(FileFailure) {
            names = try store.segmentFiles.names(in: byte)
        } catch {
            if error.kind == .notFound { return ([], []) }
            throw error.vaultError("a folder of segments cannot be listed")
        }
        var ids: [SegmentID] = []
        var others: [String] = []
        for name in names {
            if let id = SegmentID(hex: name), id.bytes.first == byte { ids.append(id) } else { others.append(name) }
        }
        return (try VerificationRows(store.index).unindexed(ids), others)
    }

    /// Returns the segment that a file claims to be.
    ///
    /// The file's commitment has opened with a key of the resource that the file belongs to. Its blocks are yet to be
    /// opened.
    ///
    /// - Returns: the claimed segment; nil if the file is not a segment of this vault, or is named like another
    ///   segment.
    /// - Throws: ``SegmentFailure/missing`` or ``SegmentFailure/unreadable(_:)``; ``VaultError`` if the rows of the
    ///   resource do not open, so that nothing is known about the file.
    package func claim(of id: SegmentID) throws -> ClaimedSegment? {
        let (header, size) = try headerAndSize(of: id)
        guard let claim = SegmentHeader.claim(header, fileSize: size, keyNumber: 0), claim.id == id,
            let owner = try VerificationRows(store.index).resource(of: claim.representation),
            let resource = try store.index.resources.find(owner)
        else { return nil }
        for number in resource.keys.keys.sorted() {
            guard let segment = SegmentHeader.claim(header, fileSize: size, keyNumber: number) else { continue }
            do {
                let reader = try store.segments.reader(of: segment, resource: resource)
                return ClaimedSegment(segment: segment, resource: owner, reader: reader, fileSize: size)
            } catch SegmentFailure.wrongKey {
                continue
            } catch SegmentFailure.foreign {
                return nil
            }
        }
        return nil
    }

    /// Moves files out of the quarantine if they belong to a resource that opens, and hold bytes that no other segment
    /// holds.
    ///
    /// The resource's rows may have been restored since the file was quarantined. As with every file without a row, the
    /// blocks of these files are yet to be checked.
    ///
    /// - Returns: the number of files that were moved.
    package func takeBackQuarantined() throws -> Int {
        let ids: [SegmentID]
        do throws(FileFailure) {
            ids = try store.segmentFiles.quarantined()
        } catch {
            throw error.vaultError("the quarantine cannot be listed")
        }
        let rows = VerificationRows(store.index)
        return try rows.unindexed(ids).filter { id in
            guard let (header, size) = try? headerAndSize(of: id, inQuarantine: true),
                let claim = SegmentHeader.claim(header, fileSize: size, keyNumber: 0), claim.id == id,
                let owner = try rows.resource(of: claim.representation),
                (try? store.index.resources.find(owner)) ?? nil != nil,
                try rows.isGap(claim)
            else { return false }
            // If the system does not permit the move, the file stays in the quarantine, where nothing reads it.
            return (try? store.segmentFiles.takeBack(id)) != nil
        }.count
    }

    private func headerAndSize(of id: SegmentID, inQuarantine: Bool = false) throws -> ([UInt8], Int64) {
        do throws(FileFailure) {
            let files = store.segmentFiles
            let file = try inQuarantine ? files.openQuarantined(id) : files.open(id, writable: false)
            return (try file.read(count: SegmentDescription.headerByteCount, at: 0), try file.size())
        } catch {
            throw error.kind == .notFound ? SegmentFailure.missing : .unreadable(error)
        }
    }

    /// Adds a file to the index after its blocks have been checked.
    ///
    /// It first makes the file durable, because the file may not be durable yet, and then commits its row.
    ///
    /// - Returns: whether the file was added; false if another segment holds its bytes.
    package func adopt(_ segment: SegmentDescription, badBlocks: Set<Int> = []) throws -> Bool {
        do throws(FileFailure) {
            try makeDurable(segment.id)
        } catch {
            // The file is moved to the quarantine, because a later sync could succeed although the disk never received
            // its pages.
            try? store.segmentFiles.quarantine(segment.id)
            throw error.vaultError("a segment cannot be made durable")
        }
        return try enter(segment, badBlocks: badBlocks)
    }

    /// Makes the file of a segment, and its name, durable.
    func makeDurable(_ id: SegmentID) throws(FileFailure) {
        try store.segmentFiles.open(id, writable: true).synchronize()
        try store.segmentFiles.synchronizeName(of: id)
    }

    /// Adds a durable file to the index, as ``adopt(_:badBlocks:)`` does.
    func enter(_ segment: SegmentDescription, badBlocks: Set<Int>) throws -> Bool {
        let counted = try SegmentRows(store.index).fileBytes(of: segment.id)
        let isAdopted = try SegmentRows(store.index).adopt(segment, badBlocks: badBlocks, now: store.index.now())
        guard isAdopted else { return false }
        // If the file had a wrong row, it was counted at another size.
        store.quota.account.correct(segment.id, from: counted, to: segment.diskSize)
        return true
    }

    /// Moves a file that is not a segment of this vault to the quarantine.
    package func putAside(_ name: String, in byte: UInt8) throws {
        do throws(FileFailure) {
            try store.segmentFiles.quarantine(name, in: byte)
        } catch {
            if error.kind == .notFound { return }
            throw error.vaultError("a file cannot be moved to quarantine")
        }
    }

    /// Cuts off any bytes after the last block of a closed segment.
    package func cut(_ segment: SegmentDescription) throws {
        do throws(FileFailure) {
            let file = try store.segmentFiles.open(segment.id, writable: true)
            try file.truncate(to: segment.fileSize)
            try file.synchronize()
        } catch {
            throw error.vaultError("a segment cannot be truncated to its size")
        }
    }
}
