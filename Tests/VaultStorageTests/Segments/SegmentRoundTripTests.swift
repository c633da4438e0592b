import SeededRandom
import Testing
import VaultCrypto
import VaultModel
import VaultTestSupport

@testable import VaultStorage

@Suite("Segments are written and read back")
struct SegmentRoundTripTests {
    static let block = 32 << 10

    @Test(
        "A segment returns its bytes and has the file size that the format defines",
        arguments: [1, block - 1, block, block + 1, 3 * block + 7, 8 << 20])
    func roundTrip(size: Int) throws {
        let fixture = try SegmentFixture()
        let bytes = SeededGenerator.bytes(size, seed: UInt64(size))
        let segment = try fixture.write(bytes, at: 1_234_567, blockSize: Self.block, piece: 50_000)
        #expect(segment.length == Int64(size))
        #expect(try fixture.reader(of: segment).bytes(segment.range, of: segment) == bytes)
        let blocks = (size + Self.block - 1) / Self.block
        #expect(try fixture.content(of: segment).count == 88 + size + 16 * blocks)
        #expect(segment.fileSize == Int64(88 + size + 16 * blocks))
    }

    @Test("The size of the appended pieces makes no difference", arguments: [1, 7, 4095, 4096, 4097, 10_000])
    func pieces(piece: Int) throws {
        let fixture = try SegmentFixture()
        let bytes = SeededGenerator.bytes(20_000, seed: 3)
        let segment = try fixture.write(bytes, piece: piece)
        #expect(try fixture.reader(of: segment).bytes(segment.range, of: segment) == bytes)
        #expect(try fixture.content(of: segment).count == 88 + 20_000 + 16 * 5)
    }

    @Test("A segment takes 8 MiB and reports when it is full")
    func room() throws {
        let fixture = try SegmentFixture()
        var writer = try fixture.begin(at: 5, blockSize: 1 << 20)
        #expect(writer.capacity == 8 << 20)
        #expect(writer.end == 5)
        try writer.append(SeededGenerator.bytes((8 << 20) - 1, seed: 1)[...])
        #expect(writer.capacity == 1)
        try writer.append([9])
        #expect(writer.capacity == 0)
        #expect(writer.end == 5 + (8 << 20))
        #expect(writer.segment.length == 8 << 20)
    }

    @Test("Any part of a segment equals that part of the plaintext")
    func parts() throws {
        let fixture = try SegmentFixture()
        let size = 9 * 4096 + 100
        let start: Int64 = 777
        let bytes = SeededGenerator.bytes(size, seed: 4)
        let segment = try fixture.write(bytes, at: start)
        let reader = try fixture.reader(of: segment)
        // Every pair of offsets around each block boundary, and in the middle of a block.
        var places: Set<Int> = [2000, size - 1, size]
        for block in 0...9 { places.formUnion([block * 4096 - 1, block * 4096, block * 4096 + 1]) }
        let edges = places.filter { (0...size).contains($0) }.sorted()
        for first in edges {
            for end in edges where end >= first {
                let range = (start + Int64(first))..<(start + Int64(end))
                let part = try reader.bytes(range, of: segment)
                #expect(part == Array(bytes[first..<end]), "\(first)..<\(end)")
            }
        }
    }

    @Test("The complete blocks of a segment are readable while it grows")
    func growing() throws {
        let fixture = try SegmentFixture()
        let bytes = SeededGenerator.bytes(5 * 4096 + 10, seed: 5)
        var writer = try fixture.begin(at: 100)
        try writer.append(bytes[..<5000])
        var segment = writer.segment
        #expect(segment.length == 4096, "the incomplete block must not be readable yet")
        let reader = try fixture.reader(of: segment)
        #expect(try reader.bytes(segment.range, of: segment) == Array(bytes[..<4096]))
        try writer.append(bytes[5000...])
        segment = writer.segment
        #expect(segment.length == 5 * 4096)
        #expect(try reader.bytes(4000..<20_000, of: segment) == Array(bytes[3900..<19_900]))
        writer.finish()
        segment = writer.segment
        #expect(try reader.bytes(segment.range, of: segment) == bytes)
    }

    @Test("The header matches the format byte for byte")
    func header() throws {
        let fixture = try SegmentFixture()
        let segment = try fixture.write([1, 2, 3], at: 0x0102_0304_0506_0708, blockSize: 65536)
        let file = try fixture.content(of: segment)
        #expect(Array(file[0..<8]) == [0x4D, 0x56, 0x53, 0x45, 0x47, 0, 0, 1])
        #expect(Array(file[8..<12]) == [0, 0, 1, 0])
        #expect(Array(file[12..<16]) == [0, 0, 0, 0])
        #expect(Array(file[16..<32]) == segment.representation.bytes)
        #expect(Array(file[32..<48]) == segment.id.bytes)
        #expect(Array(file[48..<56]) == [8, 7, 6, 5, 4, 3, 2, 1])
        let key = try KeyDerivation.key(from: fixture.key, .segment, Array(file[0..<56]))
        #expect(Array(file[56..<88]) == KeyDerivation.value(from: key, .commitment))
    }

    @Test("The file contains no plaintext, and equal blocks differ in it")
    func sealed() throws {
        let fixture = try SegmentFixture()
        let block = SeededGenerator.bytes(4096, seed: 6)
        let segment = try fixture.write(block + block)
        let file = try fixture.content(of: segment)
        let windows = Set((0...(4096 - 16)).map { Array(block[$0..<($0 + 16)]) })
        let hits = (0...(file.count - 16)).count { windows.contains(Array(file[$0..<($0 + 16)])) }
        #expect(hits == 0)
        #expect(Array(file[88..<4200]) != Array(file[4200..<8312]))
    }

    @Test("A block that could not be written completely leaves no part in the closed file")
    func cutTail() throws {
        let vault = try TemporaryVault()
        let disk = vault.simulatedFileSystem()
        let store = try vault.open(fileSystem: disk)
        let resource = try store.addMedia("film", length: 200_000)
        let bytes = SeededGenerator.bytes(100_000, seed: 7)
        var writer = try store.segments.begin(at: 0, of: resource)
        disk.fail(.write, of: "/segments/", number: 3, with: FileFailure(.noSpace, "pwrite"))
        #expect(throws: FileFailure.self) { try writer.append(bytes[...]) }
        #expect(throws: FileFailure.self, "an append after a failure must be refused") { try writer.append(bytes[...]) }
        let segment = try #require(try store.segments.close(writer))
        #expect(segment.length == 65536, "every complete block that was written must be kept")
        let file = try PosixFileSystem().open(vault.path(of: segment.id), writable: false)
        #expect(try file.size() == segment.fileSize)
        let read = try store.segments.reader(of: segment, resource: resource).bytes(segment.range, of: segment)
        #expect(read == Array(bytes[..<65536]))
    }
}
