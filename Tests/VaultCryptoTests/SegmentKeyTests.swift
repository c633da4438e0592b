import Foundation
import Testing
import VaultModel

@testable import VaultCrypto

@Suite("Segment key")
struct SegmentKeyTests {
    private static let content = (0..<(2 * 4096 + 10)).map { UInt8(truncatingIfNeeded: $0 * 7 + $0 >> 8) }

    @Test("The segment key reproduces header, commitment and block of the format's vector")
    func vector() throws {
        let resourceKey = try SecretKey(Array(0..<32))
        let segment = try SealedSegment(
            resourceKey: resourceKey, blockSize: 32_768, start: 1_234_567, plaintext: Array("abc".utf8))
        let header =
            "4d565345470000010080000000000000111111111111111111111111111111112222222222222222222222222222222287d6120000000000"
        let commitment = "bc7fb1e29197c7cefa52efd49d49df000e437f5c8d44b210ec08e0699f6f8a55"
        let block = "f0128723f25232520f8f83f649b1cde99723ed"
        #expect(Hex.encode(segment.file) == header + commitment + block)
        #expect(Int64(segment.file.count) == segment.row.fileSize)

        let bound = try #require(Hex.decode(header))
        let derived = try KeyDerivation.key(from: resourceKey, .segment, bound).exposed
        #expect(Hex.encode(derived) == "5769a7b367e54d534c96c61ed0c84a13e5a5b613478b4b680608c7fdc440037b")
    }

    @Test("A block opens by itself with the derived key and the counter nonce")
    func interchange() throws {
        let resourceKey = try SecretKey(repeating: 9)
        let segment = try SealedSegment(resourceKey: resourceKey, plaintext: Self.content)
        let secret = try KeyDerivation.key(from: resourceKey, .segment, Array(segment.file.prefix(56))).exposed
        for block in 0..<segment.row.blockCount {
            let nonce = Array(repeating: UInt8(0), count: 4) + LittleEndian.bytes(UInt64(block))
            let opened = AEAD.open(segment.block(block), nonce: nonce, associatedData: [], key: try SecretKey(secret))
            let first = block * 4096
            #expect(opened == Array(Self.content[first..<min(first + 4096, Self.content.count)]))
        }
    }

    @Test(
        "A segment of any length around a block boundary is read back completely",
        arguments: [1, 4095, 4096, 4097, 8191, 8192, 8193])
    func roundTrip(count: Int) throws {
        let resourceKey = try SecretKey(repeating: 9)
        let content = Array(Self.content.prefix(count))
        let segment = try SealedSegment(resourceKey: resourceKey, plaintext: content)
        let read = try segment.read(segment.file, resourceKey: resourceKey)
        #expect(read == content)
    }

    @Test("A flip of any single bit of a small segment is detected")
    func everyBit() throws {
        let resourceKey = try SecretKey(repeating: 9)
        let segment = try SealedSegment(resourceKey: resourceKey, plaintext: Array(Self.content.prefix(4096 + 10)))
        let key = try SegmentKey(resourceKey: resourceKey, segment: segment.row)
        let headerBits = SegmentDescription.headerByteCount * 8
        let header = Array(segment.file.prefix(SegmentDescription.headerByteCount))
        for bit in 0..<headerBits {
            let verdict = key.judge(header.flipping(bit: bit))
            #expect(verdict == (bit < SegmentHeader.boundByteCount * 8 ? .foreign : .wrongKey), "bit \(bit)")
        }
        var refused = 0
        for block in 0..<segment.row.blockCount {
            let sealed = segment.block(block)
            for bit in 0..<(sealed.count * 8) where key.open(sealed.flipping(bit: bit), block: block) == nil {
                refused += 1
            }
        }
        #expect(refused == segment.file.count * 8 - headerBits)
    }

    @Test(
        "A header that is too short or too long is foreign, never a sign of a wrong key",
        arguments: Array(0..<88) + [89, 176])
    func headerSizes(count: Int) throws {
        let resourceKey = try SecretKey(repeating: 9)
        let segment = try SealedSegment(resourceKey: resourceKey, plaintext: Array(repeating: 0, count: 200))
        let key = try SegmentKey(resourceKey: resourceKey, segment: segment.row)
        #expect(key.judge(Array(segment.file.prefix(count))) == .foreign)
    }

    @Test(
        "Two exchanged segments of one title are refused before any byte is opened",
        arguments: [
            (0x33, 0x11, 4096, 0), (0x22, 0x44, 4096, 0), (0x22, 0x11, 8192, 0), (0x22, 0x11, 4096, 4096),
            (0x22, 0x11, 4096, 1),
        ] as [(UInt8, UInt8, Int, Int64)])
    func exchanged(id: UInt8, representation: UInt8, blockSize: Int, start: Int64) throws {
        let resourceKey = try SecretKey(repeating: 9)
        let one = try SealedSegment(resourceKey: resourceKey, plaintext: Self.content)
        let other = try SealedSegment(
            resourceKey: resourceKey, id: id, representation: representation, blockSize: blockSize, start: start,
            plaintext: Self.content)
        let key = try SegmentKey(resourceKey: resourceKey, segment: one.row)
        let otherKey = try SegmentKey(resourceKey: resourceKey, segment: other.row)
        #expect(key.judge(Array(other.file.prefix(88))) == .foreign)
        #expect(otherKey.judge(Array(one.file.prefix(88))) == .foreign)
        // No block of the other segment opens, even after a corrected header.
        for block in 0..<min(one.row.blockCount, other.row.blockCount) {
            #expect(key.open(other.block(block), block: block) == nil)
            #expect(otherKey.open(one.block(block), block: block) == nil)
        }
    }

    @Test("A segment with the same description under another resource key is reported as a wrong key")
    func wrongKey() throws {
        let resourceKey = try SecretKey(repeating: 9)
        let segment = try SealedSegment(resourceKey: resourceKey, plaintext: Self.content)
        for bit in [0, 7, 128, 255] {
            let other = try SecretKey(Array(repeating: 9, count: 32).flipping(bit: bit))
            let key = try SegmentKey(resourceKey: other, segment: segment.row)
            #expect(key.judge(Array(segment.file.prefix(88))) == .wrongKey)
            #expect(key.open(segment.block(0), block: 0) == nil)
        }
    }

    @Test("Exchanged, repeated, zeroed and truncated blocks are refused, and their neighbours stay readable")
    func blocks() throws {
        let resourceKey = try SecretKey(repeating: 9)
        let segment = try SealedSegment(resourceKey: resourceKey, plaintext: Self.content)
        let key = try SegmentKey(resourceKey: resourceKey, segment: segment.row)
        #expect(key.open(segment.block(0), block: 1) == nil)
        #expect(key.open(segment.block(1), block: 0) == nil)
        #expect(key.open(Array(repeating: 0, count: 4096 + 16), block: 0) == nil)
        #expect(key.open(segment.block(0), block: 1 << 32) == nil)
        for count in 0..<segment.block(2).count {
            #expect(key.open(Array(segment.block(2).prefix(count)), block: 2) == nil)
        }
        #expect(key.open(segment.block(0) + segment.block(1), block: 0) == nil)
        #expect(key.open(segment.block(1), block: 1) == Array(Self.content[4096..<8192]))
    }

    @Test("A sealer seals each index once, in order")
    func counter() throws {
        // The compiler ensures that a sealer is never copied or reset: `SegmentSealer` is `~Copyable`, and only it sets
        // `nextBlock`.
        let segment = try SealedSegment(resourceKey: try SecretKey(repeating: 9), plaintext: [])
        let key = try SegmentKey(resourceKey: try SecretKey(repeating: 9), segment: segment.row)
        var sealer = SegmentSealer(key: key)
        var sealed: [[UInt8]] = []
        for index in 0..<300 {
            let next = sealer.nextBlock
            #expect(next == index)
            sealed.append(sealer.seal([1, 2, 3]))
        }
        #expect(Set(sealed).count == 300)
        for index in sealed.indices {
            #expect(key.open(sealed[index], block: index) == [1, 2, 3])
            #expect(key.open(sealed[index], block: index + 1) == nil)
        }
    }
}
