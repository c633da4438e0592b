import VaultModel

/// Reads PLS lists, which players write as numbered lines with files and titles.
enum PLSList {
    private static let head = "[playlist]"

    /// Returns whether a text is a PLS list. A list in JSON may begin with the same character.
    static func begins(_ bytes: [UInt8]) -> Bool {
        bytes.drop { $0 <= 0x20 }.starts(with: head.utf8) { $0.asciiLowercased == $1 }
    }

    /// Returns the titles in the order of their numbers.
    static func read(_ bytes: [UInt8], at base: MediaURL?) throws(FeedError) -> Feed {
        guard bytes.count <= Feed.maxJSONBytes else { throw .tooLarge(limit: Feed.maxJSONBytes) }
        var files: [Int: String] = [:]
        var titles: [Int: String] = [:]
        for line in bytes.split(whereSeparator: { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }) {
            guard let equals = line.firstIndex(of: UInt8(ascii: "=")) else { continue }
            let name = String(decoding: line[..<equals], as: UTF8.self).trimmingSpace().lowercased()
            let value = String(decoding: line[(equals + 1)...], as: UTF8.self).trimmingSpace()
            if let number = number(of: "file", in: name) { files[number] = value }
            if let number = number(of: "title", in: name) { titles[number] = value }
        }
        var feed = Feed()
        for (number, file) in files.sorted(by: { $0.key < $1.key }) {
            let title = titles[number].flatMap(PlainText.folded)
            try feed.add(StatedEntry(files: [EntryFile(reference: file)], title: title), at: base)
        }
        return feed
    }

    private static func number(of word: String, in name: String) -> Int? {
        name.hasPrefix(word) ? Int(name.dropFirst(word.count)) : nil
    }
}
