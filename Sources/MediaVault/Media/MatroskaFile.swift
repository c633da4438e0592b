import VaultModel

/// The elements of a Matroska file (EBML, RFC 8794), read one by one.
struct MatroskaFile {
    private let media: MediaBytes
    /// The number of elements that may still be examined.
    private var budget = 50_000

    /// The maximum number of bytes of an element whose children are examined.
    private static let maxPartBytes: Int64 = 4 << 20

    /// The ids of elements, with their length marker (RFC 9559 §5.1).
    enum ID {
        static let ebml: UInt32 = 0x1A45_DFA3
        static let segment: UInt32 = 0x1853_8067
        static let cluster: UInt32 = 0x1F43_B675

        static let seekHead: UInt32 = 0x114D_9B74
        static let seek: UInt32 = 0x4DBB
        static let seekPosition: UInt32 = 0x53AC

        static let info: UInt32 = 0x1549_A966
        static let timestampScale: UInt32 = 0x2A_D7B1
        static let duration: UInt32 = 0x4489
        static let title: UInt32 = 0x7BA9

        static let tracks: UInt32 = 0x1654_AE6B
        static let trackEntry: UInt32 = 0xAE
        static let trackType: UInt32 = 0x83
        static let language: UInt32 = 0x22_B59C
        static let languageBCP47: UInt32 = 0x22_B59D

        static let tags: UInt32 = 0x1254_C367
        static let tag: UInt32 = 0x7373
        static let targets: UInt32 = 0x63C0
        static let targetLevel: UInt32 = 0x68CA
        /// The elements that name the track, edition, chapter or attachment that a tag is about.
        static let uids: [UInt32] = [0x63C5, 0x63C9, 0x63C4, 0x63C6]
        static let simpleTag: UInt32 = 0x67C8
        static let tagName: UInt32 = 0x45A3
        static let tagString: UInt32 = 0x4487

        static let chapters: UInt32 = 0x1043_A770
        static let edition: UInt32 = 0x45B9
        static let chapter: UInt32 = 0xB6
        static let chapterStart: UInt32 = 0x91
        static let chapterHidden: UInt32 = 0x98
        static let chapterDisplay: UInt32 = 0x80
        static let chapterName: UInt32 = 0x85
    }

    /// An element: its id, and the range of its content.
    struct Element {
        let id: UInt32
        let body: ByteRange
    }

    init(_ media: MediaBytes) { self.media = media }

    // MARK: Elements

    /// Returns the first segment; nil if the file has none behind its head.
    mutating func segment() throws -> Element? {
        guard let head = try element(at: 0, within: media.length), head.id == ID.ebml else { return nil }
        let segment = try element(at: head.body.upperBound, within: media.length)
        return segment?.id == ID.segment ? segment : nil
    }

    /// Returns the elements directly within an element, up to the first malformed one.
    mutating func children(of outer: Element) throws -> [Element] {
        var found: [Element] = []
        try forEachChild(of: outer) { child in
            found.append(child)
            return true
        }
        return found
    }

    /// Returns the first element with an id directly within an element; nil if there is none.
    mutating func child(_ id: UInt32, of outer: Element) throws -> Element? {
        var found: Element?
        try forEachChild(of: outer) { child in
            if child.id == id { found = child }
            return found == nil
        }
        return found
    }

    private mutating func forEachChild(of outer: Element, _ goesOn: (Element) -> Bool) throws {
        var position = outer.body.lowerBound
        let end = position + min(outer.body.length, Self.maxPartBytes)
        while let next = try element(at: position, within: end), goesOn(next) { position = next.body.upperBound }
    }

    /// Returns the element that begins at a position; nil if there is none, or it does not fit.
    mutating func element(at position: Int64, within end: Int64) throws -> Element? {
        guard budget > 0, position < end else { return nil }
        budget -= 1
        let head = try media.read(position, Int(min(12, end - position)))
        guard let first = head.first, first >= 0x10 else { return nil }
        // The number of leading zero bits tells how many bytes follow the first (RFC 8794 §4).
        let idBytes = first.leadingZeroBitCount + 1
        guard head.count > idBytes else { return nil }
        let id = UInt32(MediaBytes.number(head.prefix(idBytes)))
        let sizeBytes = head[idBytes].leadingZeroBitCount + 1
        guard sizeBytes <= 8, head.count >= idBytes + sizeBytes else { return nil }
        let mask = Int64(1) << Int64(7 * sizeBytes) - 1
        let size = MediaBytes.number(head[idBytes..<idBytes + sizeBytes]) & mask
        let start = position + Int64(idBytes + sizeBytes)
        // All bits set means that the size is unknown: the element reaches to the end (RFC 8794 §6.2). So does the
        // segment of a file that is cut short.
        let isOpen = size == mask || id == ID.segment && size > end - start
        guard isOpen || size <= end - start else { return nil }
        return Element(id: id, body: start..<(isOpen ? end : start + size))
    }

    // MARK: Values

    /// Returns a number; nil if it is negative, or too large.
    func integer(_ element: Element) throws -> Int64? {
        guard element.body.length <= 8 else { return nil }
        let bytes = try media.read(element.body.lowerBound, Int(element.body.length))
        let number = MediaBytes.number(bytes[...])
        return bytes.count == Int(element.body.length) && number >= 0 ? number : nil
    }

    /// Returns a number with a fraction; nil if it does not have four or eight bytes.
    func real(_ element: Element) throws -> Double? {
        guard element.body.length == 4 || element.body.length == 8 else { return nil }
        let bytes = try media.read(element.body.lowerBound, Int(element.body.length))
        let pattern = UInt64(bitPattern: MediaBytes.number(bytes[...]))
        switch bytes.count {
        case 4: return Double(Float(bitPattern: UInt32(truncatingIfNeeded: pattern)))
        case 8: return Double(bitPattern: pattern)
        default: return nil
        }
    }

    /// Returns a text, up to its first zero byte (RFC 8794 §7.4).
    func text(_ element: Element) throws -> String? {
        let count = Int(min(element.body.length, Int64(MediaTags.maxTextBytes)))
        return MediaTags.text(try media.read(element.body.lowerBound, count))
    }
}
