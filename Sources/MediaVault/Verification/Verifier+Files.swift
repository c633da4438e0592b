import VaultModel
import VaultStorage

// From the files to the index.
extension Verifier {
    /// Looks at the files that no row names among those whose names begin with a byte.
    mutating func checkFiles(in byte: UInt8) async throws {
        let files = try await blocking { try $0.unnamedFiles(in: byte) }
        for id in files.segments { try await check(orphan: id, in: byte) }
        for name in files.others { try await putAside(name, in: byte) }
    }

    private mutating func check(orphan id: SegmentID, in byte: UInt8) async throws {
        do {
            guard let claimed = try await soundClaim(of: id) else { return try await putAside(id.hex, in: byte) }
            report.orphans.good += 1
            guard options.repairs, try await vault.adopt(claimed) else { return }
            report.orphans.adopted += 1
        } catch SegmentFailure.missing {
            // It was a segment that was just removed.
            return
        } catch SegmentFailure.unreadable {
            report.unreadable += 1
        } catch let error as VaultError where error.code == .integrity {
            // The rows of its resource do not open: nothing is known about the file, and it stays.
            return
        } catch let error as VaultError where error.code == .storage {
            // It could not be made durable, so it was not adopted.
            report.unreadable += 1
        }
    }

    /// A file that is a whole segment by its own header, and whose bytes no other segment holds; nil for any other.
    mutating func soundClaim(of id: SegmentID) async throws -> ClaimedSegment? {
        guard let claimed = try await blocking({ try $0.claim(of: id) }), claimed.fits,
            try await badBlocks(of: claimed.segment, claimed.reader).isEmpty,
            try await blocking({ try $0.index.isGap(claimed.segment) })
        else { return nil }
        return claimed
    }

    private mutating func putAside(_ name: String, in byte: UInt8) async throws {
        report.orphans.strange += 1
        guard options.repairs else { return }
        do {
            try await blocking { try $0.putAside(name, in: byte) }
            report.orphans.quarantined += 1
        } catch let error as VaultError where error.code == .storage {
            // It stays where it is, and hurts nobody.
            return
        }
    }
}
