import SeededRandom
import Testing
import VaultCrypto
import VaultModel
import VaultTestSupport

@testable import VaultStorage

@Suite("Damaged bytes are detected before they are served")
struct SegmentDamageTests {
    /// A vault with one title of three and a half blocks in one closed segment.
    private struct Stored {
        let vault: TemporaryVault
        let store: VaultStore
        let segment: SegmentDescription
        let bytes: [UInt8]
        let resourceID: ResourceID

        static let block = VaultStore.blockSize

        init() throws {
            vault = try TemporaryVault()
            store = try vault.open()
            bytes = SeededGenerator.bytes(Self.block * 7 / 2, seed: 11)
            let resource = try store.addMedia("film", length: Int64(bytes.count))
            resourceID = resource.id
            segment = try #require(try store.store(bytes, at: 0, of: resource))
        }

        var resource: StoredResource { get throws { try #require(try store.index.resources.find(resourceID)) } }
        var path: String { vault.path(of: segment.id) }

        func change(_ body: (any StoredFile) throws -> Void) throws {
            try body(PosixFileSystem().open(path, writable: true))
        }

        /// Reads `range`; returns the failure, or nil after requiring that the bytes are right.
        func failure(of range: ByteRange) throws -> SegmentFailure? {
            do {
                let reader = try store.segments.reader(of: segment, resource: resource)
                #expect(
                    try reader.bytes(range, of: segment) == Array(bytes[Int(range.lowerBound)..<Int(range.upperBound)]))
                return nil
            } catch let failure as SegmentFailure {
                return failure
            }
        }
    }

    private static func isBad(_ failure: SegmentFailure?, _ block: Int) -> Bool {
        if case .badBlock(block)? = failure { true } else { false }
    }

    @Test("A changed block becomes a gap, and its neighbours stay readable", arguments: [0, 1, 2, 3])
    func badBlock(block: Int) throws {
        let stored = try Stored()
        let offset = stored.segment.fileOffset(ofBlock: block) + 100
        try stored.change { file in
            let byte = try file.read(count: 1, at: offset)[0]
            try file.write([byte ^ 1], at: offset)
        }
        for other in 0..<4 where other != block {
            #expect(try stored.failure(of: stored.segment.range(ofBlock: other)) == nil)
        }
        let failure = try #require(try stored.failure(of: stored.segment.range))
        #expect(Self.isBad(failure, block))

        try stored.store.segments.invalidate(stored.segment, for: failure)
        let serving = try #require(try stored.resource.serving)
        #expect(serving.badBlocks == [stored.segment.id: [block]])
        let gap = stored.segment.range(ofBlock: block)
        #expect(serving.held.gaps(in: stored.segment.range) == [gap])
        #expect(PosixFileSystem().exists(stored.path), "the good blocks must stay")
        let runs = try stored.store.read(stored.resource)
        for run in runs {
            #expect(run.bytes == Array(stored.bytes[Int(run.start)..<(Int(run.start) + run.bytes.count)]))
        }
        #expect(runs.reduce(0) { $0 + $1.bytes.count } == stored.bytes.count - Int(gap.length))
    }

    @Test("Reading up to a bad block returns the verified bytes and no byte of the bad block")
    func partialOutput() throws {
        let stored = try Stored()
        try stored.change { try $0.write([0, 0, 0, 0], at: stored.segment.fileOffset(ofBlock: 2) + 5) }
        let reader = try stored.store.segments.reader(of: stored.segment, resource: stored.resource)
        var output = [UInt8](repeating: 0xEE, count: stored.bytes.count)
        unsafe output.withUnsafeMutableBytes { buffer in
            _ = #expect(throws: SegmentFailure.self) {
                try unsafe reader.open(stored.segment.range, of: stored.segment, into: buffer)
            }
        }
        let edge = 2 * Stored.block
        #expect(Array(output[..<edge]) == Array(stored.bytes[..<edge]))
        #expect(
            output[edge...].allSatisfy { $0 == 0xEE || $0 == 0 },
            "the plaintext of the bad block must never be returned")
    }

    @Test("A block of zeros is refused")
    func zeroed() throws {
        let stored = try Stored()
        try stored.change { file in
            try file.write([UInt8](repeating: 0, count: Stored.block + 16), at: stored.segment.fileOffset(ofBlock: 1))
        }
        #expect(Self.isBad(try stored.failure(of: stored.segment.range), 1))
        #expect(try stored.failure(of: stored.segment.range(ofBlock: 2)) == nil)
    }

    @Test("A block in the place of another one is refused")
    func swapped() throws {
        let stored = try Stored()
        try stored.change { file in
            let size = Stored.block + 16
            let (first, second) = (stored.segment.fileOffset(ofBlock: 0), stored.segment.fileOffset(ofBlock: 1))
            let (one, two) = (try file.read(count: size, at: first), try file.read(count: size, at: second))
            try file.write(two, at: first)
            try file.write(one, at: second)
        }
        #expect(Self.isBad(try stored.failure(of: stored.segment.range(ofBlock: 0)), 0))
        #expect(Self.isBad(try stored.failure(of: stored.segment.range(ofBlock: 1)), 1))
        #expect(try stored.failure(of: stored.segment.range(ofBlock: 2)) == nil)
    }

    @Test("A truncated file loses only the blocks after the cut", arguments: [0, 1, 100])
    func cut(extra: Int64) throws {
        let stored = try Stored()
        try stored.change { try $0.truncate(to: stored.segment.fileOffset(ofBlock: 2) + extra) }
        #expect(try stored.failure(of: 0..<Int64(2 * Stored.block)) == nil)
        #expect(Self.isBad(try stored.failure(of: stored.segment.range), 2))
        #expect(Self.isBad(try stored.failure(of: stored.segment.range(ofBlock: 3)), 3))
    }

    @Test("Bytes after the last block are never served and damage no block")
    func extraBytes() throws {
        let stored = try Stored()
        try stored.change { try $0.write([UInt8](repeating: 7, count: 1000), at: stored.segment.fileSize) }
        #expect(try stored.failure(of: stored.segment.range) == nil)
    }

    @Test(
        "A file truncated within its header is foreign and quarantined, and the whole segment becomes a gap",
        arguments: [0, 1, 55])
    func cutHeader(size: Int64) throws {
        let stored = try Stored()
        try stored.change { try $0.truncate(to: size) }
        try expectForeign(stored)
    }

    @Test("Another segment's file is foreign and quarantined, and the whole segment becomes a gap")
    func replaced() throws {
        let stored = try Stored()
        let other = try #require(
            try stored.store.store(stored.bytes, at: 1 << 30, of: stored.resource))
        let content = try PosixFileSystem().contents(of: stored.vault.path(of: other.id))
        try stored.change { try $0.write(content, at: 0) }
        try expectForeign(stored)
    }

    private func expectForeign(_ stored: Stored) throws {
        let failure = try #require(try stored.failure(of: 0..<1))
        guard case .foreign = failure else {
            Issue.record("\(failure)")
            return
        }
        try stored.store.segments.invalidate(stored.segment, for: failure)
        let serving = try #require(try stored.resource.serving)
        #expect(!serving.segments.contains { $0.id == stored.segment.id })
        #expect(serving.held.overlaps(with: stored.segment.range).isEmpty)
        #expect(!PosixFileSystem().exists(stored.path))
        #expect(PosixFileSystem().exists(stored.vault.folder + "/quarantine/" + stored.segment.id.hex))
    }

    @Test("A change of any byte of the header is detected")
    func headerBytes() throws {
        let stored = try Stored()
        for offset in Int64(0)..<88 {
            try stored.change { file in
                let byte = try file.read(count: 1, at: offset)[0]
                try file.write([byte ^ 0x80], at: offset)
            }
            switch try stored.failure(of: 0..<1) {
            case .foreign?: #expect(offset < 56)
            case .wrongKey?: #expect(offset >= 56)
            case let other: Issue.record("byte \(offset): \(String(describing: other))")
            }
            try stored.change { file in
                let byte = try file.read(count: 1, at: offset)[0]
                try file.write([byte ^ 0x80], at: offset)
            }
        }
        #expect(try stored.failure(of: stored.segment.range) == nil)
    }

    @Test("A segment under another key is quarantined, and the whole segment becomes a gap")
    func wrongKey() throws {
        let stored = try Stored()
        let otherKey = try SecureRandom.key("test")
        let header = try SegmentKey(resourceKey: otherKey, segment: stored.segment).header
        try stored.change { try $0.write(header, at: 0) }
        let failure = try #require(try stored.failure(of: 0..<1))
        guard case .wrongKey = failure else {
            Issue.record("\(failure)")
            return
        }
        try stored.store.segments.invalidate(stored.segment, for: failure)
        #expect(try stored.resource.serving?.held.isEmpty == true)
    }

    @Test("A missing file becomes a gap, and its row is removed")
    func missing() throws {
        let stored = try Stored()
        try PosixFileSystem().remove(stored.path)
        let failure = try #require(try stored.failure(of: 0..<1))
        guard case .missing = failure else {
            Issue.record("\(failure)")
            return
        }
        try stored.store.segments.invalidate(stored.segment, for: failure)
        #expect(try stored.resource.serving?.segments.isEmpty == true)
        #expect(try stored.store.index.resources.totals().pendingDeletions == 0)
    }

    @Test("A read error does not invalidate a segment")
    func unreadable() throws {
        let stored = try Stored()
        try stored.store.segments.invalidate(
            stored.segment, for: .unreadable(FileFailure(.other(5), "pread: Input/output error")))
        #expect(try stored.resource.serving?.segments == [stored.segment])
        #expect(PosixFileSystem().exists(stored.path))
    }

    @Test("A new segment fills a gap inside another segment, and both are read")
    func refilled() throws {
        let stored = try Stored()
        try stored.change { try $0.write([1, 2, 3], at: stored.segment.fileOffset(ofBlock: 1)) }
        try stored.store.segments.invalidate(stored.segment, for: .badBlock(1))
        let gap = stored.segment.range(ofBlock: 1)
        let mended = Array(stored.bytes[Int(gap.lowerBound)..<Int(gap.upperBound)])
        #expect(try stored.store.store(mended, at: gap.lowerBound, of: stored.resource) != nil)
        #expect(try stored.resource.serving?.held == ByteRanges(stored.segment.range))
        var all = stored.bytes.map { _ in UInt8(0) }
        for run in try stored.store.read(stored.resource) {
            all.replaceSubrange(Int(run.start)..<(Int(run.start) + run.bytes.count), with: run.bytes)
        }
        #expect(all == stored.bytes)
    }
}
