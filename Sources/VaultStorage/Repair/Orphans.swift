import VaultCrypto
package import VaultModel

// From the files to the index: files in `segments` that have no row, or a wrong one.
extension VaultStore {
    /// Returns the names in the folder of segments whose ids begin with a byte, except those that the index knows.
    ///
    /// - Returns: files that are named like segments, and other names, which no segment has.
    package func unindexedFiles(in byte: UInt8) throws -> (segments: [SegmentID], others: [String]) {
        let names: [String]
        do throws(FileFailure) {
            names = try segments.names(in: byte)
        } catch {
            if error.kind == .notFound { return ([], []) }
            throw error.vaultError("a folder of segments cannot be listed")
        }
        var ids: [SegmentID] = []
        var others: [String] = []
        for name in names {
            if let id = SegmentID(hex: name), id.bytes.first == byte { ids.append(id) } else { others.append(name) }
        }
        return (try VerificationRows(index).unindexed(ids), others)
    }

    /// Returns what the file of a segment states about itself.
    ///
    /// Its commitment has opened with a key of the resource that it names. Its blocks are yet to be opened.
    ///
    /// - Returns: nil if the file is not a segment of this vault, or is named like another segment.
    /// - Throws: ``SegmentFailure/missing``, ``SegmentFailure/unreadable(_:)``; ``VaultError`` if the rows of the
    ///   resource do not open, so that nothing is known about the file.
    package func claim(of id: SegmentID) throws -> ClaimedSegment? {
        let (header, size) = try headerAndSize(of: id)
        guard let claim = SegmentHeader.claim(header, fileSize: size, keyNumber: 0), claim.id == id,
            let owner = try VerificationRows(index).resource(of: claim.representation),
            let resource = try index.resource(owner)
        else { return nil }
        for number in resource.keys.keys.sorted() {
            guard let segment = SegmentHeader.claim(header, fileSize: size, keyNumber: number) else { continue }
            do {
                let reader = try reader(of: segment, resource: resource)
                return ClaimedSegment(segment: segment, resource: owner, reader: reader, fileSize: size)
            } catch SegmentFailure.wrongKey {
                continue
            } catch SegmentFailure.foreign {
                return nil
            }
        }
        return nil
    }

    /// Moves files out of the quarantine if they name a resource that opens, and bytes that nothing holds.
    ///
    /// The resource's rows may have been restored since. Like every file without a row, these files are yet to be
    /// checked.
    ///
    /// - Returns: the number of files.
    package func takeBackQuarantined() throws -> Int {
        let ids: [SegmentID]
        do throws(FileFailure) {
            ids = try segments.quarantined()
        } catch {
            throw error.vaultError("the quarantine cannot be listed")
        }
        let rows = VerificationRows(index)
        return try rows.unindexed(ids).filter { id in
            guard let (header, size) = try? headerAndSize(of: id, inQuarantine: true),
                let claim = SegmentHeader.claim(header, fileSize: size, keyNumber: 0), claim.id == id,
                let owner = try rows.resource(of: claim.representation), (try? index.resource(owner)) ?? nil != nil,
                try rows.isGap(claim)
            else { return false }
            // If the system does not permit it, the file stays where nothing reads it.
            return (try? segments.takeBack(id)) != nil
        }.count
    }

    private func headerAndSize(of id: SegmentID, inQuarantine: Bool = false) throws -> ([UInt8], Int64) {
        do throws(FileFailure) {
            let file = try inQuarantine ? segments.openQuarantined(id) : segments.open(id, writable: false)
            return (try file.read(count: SegmentDescription.headerByteCount, at: 0), try file.size())
        } catch {
            throw error.kind == .notFound ? SegmentFailure.missing : .unreadable(error)
        }
    }

    /// Adds a file whose blocks were checked to the index.
    ///
    /// It first makes the file durable, because it may not be, then commits its row.
    ///
    /// - Returns: false if another segment holds its bytes.
    package func adopt(_ segment: SegmentDescription, badBlocks: Set<Int> = []) throws -> Bool {
        do throws(FileFailure) {
            try makeDurable(segment.id)
        } catch {
            // Moved aside: a later sync could succeed although the disk never got its pages.
            try? segments.quarantine(segment.id)
            throw error.vaultError("a segment cannot be made durable")
        }
        return try enter(segment, badBlocks: badBlocks)
    }

    /// Makes the file of a segment, and its name, durable.
    func makeDurable(_ id: SegmentID) throws(FileFailure) {
        try segments.open(id, writable: true).synchronize()
        try segments.synchronizeName(of: id)
    }

    /// Adds a durable file to the index, as ``adopt(_:badBlocks:)`` does.
    func enter(_ segment: SegmentDescription, badBlocks: Set<Int>) throws -> Bool {
        let counted = try SegmentRows(index).fileBytes(of: segment.id)
        guard try SegmentRows(index).adopt(segment, badBlocks: badBlocks, now: now()) else { return false }
        // Under a wrong row it was counted with another size.
        quota.account.correct(segment.id, from: counted, to: segment.diskSize)
        return true
    }

    /// Moves a file that is not a segment of this vault to quarantine.
    package func putAside(_ name: String, in byte: UInt8) throws {
        do throws(FileFailure) {
            try segments.quarantine(name, in: byte)
        } catch {
            if error.kind == .notFound { return }
            throw error.vaultError("a file cannot be moved to quarantine")
        }
    }

    /// Cuts off what follows the last block of a closed segment.
    package func cut(_ segment: SegmentDescription) throws {
        do throws(FileFailure) {
            let file = try segments.open(segment.id, writable: true)
            try file.truncate(to: segment.fileSize)
            try file.synchronize()
        } catch {
            throw error.vaultError("a segment cannot be truncated to its size")
        }
    }
}
