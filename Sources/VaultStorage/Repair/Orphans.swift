import VaultCrypto
package import VaultModel

// From the files to the index: what lies in `segments` and has no row, or another than it should.
extension VaultStore {
    /// Names in the folder of one first byte that the index does not know.
    ///
    /// - Returns: files that are named as segments are, and other names, which no segment has.
    package func unnamedFiles(in byte: UInt8) throws -> (segments: [SegmentID], others: [String]) {
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
        return (try index.unnamed(ids), others)
    }

    /// What the file of a segment says about itself, its commitment opened with a key of the resource that it names.
    ///
    /// - Returns: nil where it is no segment of this vault, or not of this name. Its blocks are yet to be opened.
    /// - Throws: ``SegmentFailure/missing``, ``SegmentFailure/unreadable(_:)``; ``VaultError`` where the rows of the
    ///   resource do not open, and nothing is known about the file.
    package func claim(of id: SegmentID) throws -> ClaimedSegment? {
        let (header, size) = try headerAndSize(of: id)
        guard let claim = SegmentHeader.claim(header, fileSize: size, keyNumber: 0), claim.id == id,
            let owner = try index.resource(of: claim.representation), let resource = try index.resource(owner)
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

    private func headerAndSize(of id: SegmentID) throws -> ([UInt8], Int64) {
        do throws(FileFailure) {
            let file = try segments.open(id, writable: false)
            return (try file.read(count: SegmentDescription.headerByteCount, at: 0), try file.size())
        } catch {
            throw error.kind == .notFound ? SegmentFailure.missing : .unreadable(error)
        }
    }

    /// Takes a file whose every block has opened into the index: first it is made durable, for nobody knows whether it
    /// was, then its row is committed.
    ///
    /// - Returns: false where its bytes are held in another segment.
    package func adopt(_ segment: SegmentDescription, badBlocks: Set<Int> = []) throws -> Bool {
        do throws(FileFailure) {
            try makeDurable(segment.id)
        } catch {
            // Aside: the next sync might say yes to pages that the disk never got.
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

    /// Enters a file that is durable into the index, as ``adopt(_:badBlocks:)`` does.
    func enter(_ segment: SegmentDescription, badBlocks: Set<Int>) throws -> Bool {
        let counted = try index.fileBytes(of: segment.id)
        guard try index.adopt(segment, badBlocks: badBlocks, now: now()) else { return false }
        // Under a row that was wrong it counted with another size.
        room.remove(segment.id, size: counted)
        room.add(segment.diskSize)
        return true
    }

    /// Moves a file that is no segment of this vault aside.
    package func putAside(_ name: String, in byte: UInt8) throws {
        do throws(FileFailure) {
            try segments.quarantine(name, in: byte)
        } catch {
            if error.kind == .notFound { return }
            throw error.vaultError("a file cannot be moved to quarantine")
        }
    }

    /// Cuts off what stands behind the last block of a closed segment.
    package func cut(_ segment: SegmentDescription) throws {
        do throws(FileFailure) {
            let file = try segments.open(segment.id, writable: true)
            try file.truncate(to: segment.fileSize)
            try file.synchronize()
        } catch {
            throw error.vaultError("a segment cannot be cut to its size")
        }
    }
}
