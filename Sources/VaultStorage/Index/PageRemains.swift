/// The parts of a page of an SQLite file in which nothing stands: what is left there is what once did.
///
/// SQLite leaves copies of rows there when it moves them to another page; `secure_delete` wipes only rows that are deleted.
enum PageRemains {
    /// A file with more pages could have others that begin as those of a tree do.
    static let mostPages: Int64 = 0x0200_0000

    /// The bytes of a page that belong to no cell; none where the page is not one of a tree, or contradicts itself.
    ///
    /// - Parameters:
    ///   - page: all its bytes.
    ///   - isFirst: whether it is the file's first, which begins with the file's header.
    ///   - usable: how many of its bytes the tree uses.
    static func ranges(in page: ArraySlice<UInt8>, isFirst: Bool, usable: Int) -> [Range<Int>] {
        let header = isFirst ? 100 : 0
        guard usable <= page.count, header + 12 <= usable else { return [] }
        func number(_ place: Int) -> Int {
            Int(page[page.startIndex + place]) << 8 | Int(page[page.startIndex + place + 1])
        }
        let headerSize: Int
        switch page[page.startIndex + header] {
        case 2, 5: headerSize = 12
        case 10, 13: headerSize = 8
        default: return []
        }
        let pointersEnd = header + headerSize + 2 * number(header + 3)
        // 0 stands for 65 536.
        let content = number(header + 5) == 0 ? 65_536 : number(header + 5)
        guard pointersEnd <= content, content <= usable else { return [] }
        var ranges = [pointersEnd..<content]
        var block = number(header + 1)
        var end = content
        while block != 0 {
            // They follow one another, and each begins with the next one's place and its own size.
            guard block >= end, block + 4 <= usable else { return ranges }
            let size = number(block + 2)
            guard size >= 4, block + size <= usable else { return ranges }
            ranges.append(block + 4..<block + size)
            end = block + size
            block = number(block)
        }
        return ranges
    }
}
