import SeededRandom
import Testing

@testable import VaultStorage

@Suite("The bytes of a SQLite page that belong to no row")
struct PageWipeTests {
    /// Returns a page of 512 bytes with its kind, first free block, number of cells, and start of the cell content.
    private static func page(
        _ kind: UInt8, block: Int = 0, cells: Int, content: Int, isFirst: Bool = false, blocks: [(Int, Int, Int)] = []
    ) -> [UInt8] {
        var page = [UInt8](repeating: 0xEE, count: 512)
        let header = isFirst ? 100 : 0
        func put(_ number: Int, at place: Int) {
            (page[place], page[place + 1]) = (UInt8(number >> 8 & 0xFF), UInt8(number & 0xFF))
        }
        page[header] = kind
        put(block, at: header + 1)
        put(cells, at: header + 3)
        put(content, at: header + 5)
        for (place, next, size) in blocks {
            put(next, at: place)
            put(size, at: place + 2)
        }
        return page
    }

    private static func ranges(_ page: [UInt8], isFirst: Bool = false) -> [Range<Int>] {
        PageWipe.ranges(in: page[...], isFirst: isFirst, usable: page.count)
    }

    @Test(
        "Unused bytes are in free blocks and between cell pointers and cells; an inner page has a longer header"
    )
    func pages() {
        #expect(Self.ranges(Self.page(10, cells: 3, content: 400)) == [14..<400])
        #expect(Self.ranges(Self.page(13, cells: 0, content: 512)) == [8..<512])
        #expect(Self.ranges(Self.page(2, cells: 3, content: 400)) == [18..<400])
        #expect(Self.ranges(Self.page(5, cells: 1, content: 14)) == [14..<14])
        #expect(Self.ranges(Self.page(13, cells: 2, content: 500, isFirst: true), isFirst: true) == [112..<500])
        let blocks = Self.page(10, block: 410, cells: 1, content: 400, blocks: [(410, 450, 20), (450, 0, 4)])
        #expect(Self.ranges(blocks) == [10..<400, 414..<430, 454..<454])
    }

    @Test("A page of another kind or with contradictory fields is not wiped")
    func others() {
        for kind: UInt8 in [0, 1, 3, 9, 14, 255] {
            #expect(Self.ranges(Self.page(kind, cells: 1, content: 400)).isEmpty)
        }
        #expect(Self.ranges(Self.page(10, cells: 200, content: 400)).isEmpty, "the cell pointers reach into the cells")
        #expect(Self.ranges(Self.page(10, cells: 1, content: 513)).isEmpty)
        #expect(Self.ranges(Self.page(10, cells: 1, content: 0)).isEmpty, "65 536 in a page of 512")
        for block in [(410, 410, 20), (410, 405, 20), (410, 0, 3), (410, 0, 200), (511, 0, 9)] {
            let page = Self.page(10, block: block.0, cells: 1, content: 400, blocks: block.0 < 509 ? [block] : [])
            let ranges = Self.ranges(page)
            #expect(ranges.first == 10..<400 && ranges.allSatisfy { $0.upperBound <= 512 }, "\(block)")
        }
    }

    @Test("No range reaches beyond the page, even if its content is random")
    func anything() {
        let seed = UInt64.random(in: 0 ..< .max)
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<2000 {
            var page = SeededGenerator.bytes(512, seed: generator.next())
            page[0] = [2, 5, 10, 13][Int(generator.next() % 4)]
            let ranges = Self.ranges(page)
            #expect(ranges.allSatisfy { $0.lowerBound >= 8 && $0.upperBound <= 512 }, "seed \(seed)")
        }
    }
}
