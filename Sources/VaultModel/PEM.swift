/// The blocks of a PEM file (RFC 7468).
enum PEM {
    /// One block: its label, such as `CERTIFICATE`, and its lines, without surrounding white space.
    struct Block {
        let label: String
        let text: String
    }

    /// Returns the blocks that have one of the labels, in order; everything else in the text is dropped.
    ///
    /// - Returns: the blocks, or nil if one of them is damaged.
    static func blocks(_ labels: Set<String>, of text: String) -> [Block]? {
        var blocks: [Block] = []
        var open: (label: String, body: [Substring])?
        for line in text.split(whereSeparator: \.isNewline).map({ $0.trimmed }) {
            if let block = open {
                guard line == end(block.label) else {
                    open?.body.append(line)
                    continue
                }
                guard isSequence(block.body.joined()) else { return nil }
                let lines = [begin(block.label)] + block.body.map(String.init) + [end(block.label)]
                blocks.append(Block(label: block.label, text: lines.joined(separator: "\n") + "\n"))
                open = nil
            } else if let label = labels.first(where: { line == begin($0) }) {
                open = (label, [])
            }
        }
        return open == nil ? blocks : nil
    }

    private static func begin(_ label: String) -> String { "-----BEGIN \(label)-----" }
    private static func end(_ label: String) -> String { "-----END \(label)-----" }

    /// Returns whether the text is the base64 encoding of exactly one DER sequence.
    private static func isSequence(_ text: String) -> Bool {
        guard let bytes = Base64.decode(text), bytes.count > 2, bytes[0] == 0x30 else { return false }
        // A byte below 128 is the length itself; otherwise, its low bits are the number of bytes in the length.
        guard bytes[1] & 0x80 != 0 else { return bytes.count == 2 + Int(bytes[1]) }
        let digits = Int(bytes[1] & 0x7F)
        guard (1...3).contains(digits), bytes.count > 2 + digits else { return false }
        return bytes[2..<(2 + digits)].reduce(0) { $0 << 8 | Int($1) } == bytes.count - 2 - digits
    }
}

extension Substring {
    /// The text without white space at its ends.
    fileprivate var trimmed: Substring {
        let start = drop { $0.isWhitespace }
        return start.lastIndex { !$0.isWhitespace }.map { start[...$0] } ?? ""
    }
}
