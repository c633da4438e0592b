package import VaultModel

/// The strings in a manifest that would reveal its origin: parts of the host, port, folder and query of its URLs.
package struct OriginTraces: Sendable {
    /// The strings to search for, in lower case like those in the other sets.
    private let texts: Needles
    /// The strings that count only if no letter or digit is next to them.
    private let words: Set<[UInt8]>
    private let ports: Set<[UInt8]>

    /// - Parameter urls: the URLs of the manifest, of any redirect that it came from, and of its title, together with
    ///   the ``places(of:)`` of the title's files.
    package init(_ urls: [MediaURL]) {
        var texts: Set<[UInt8]> = []
        var words: Set<[UInt8]> = []
        var ports: Set<[UInt8]> = []
        for url in urls {
            // A host without a dot could be any word, so it does not count.
            if url.host.contains(".") || url.host.contains(":") { texts.insert(Self.lowercased(url.host.utf8)) }
            // A shorter number might be part of a time of day.
            if let port = url.port, port > 99 { ports.insert(Array(":\(port)".utf8)) }
            for folder in Self.spellings(ofFolder: url) where folder.count > 2 {
                texts.insert(folder)
                // Without its slash, a folder at the root counts only as a whole word, because it could be the end of
                // `video/mp4`.
                let inner = folder.dropFirst().dropLast()
                guard inner.contains(UInt8(ascii: "/")) else {
                    words.insert(Array(folder.dropLast()))
                    continue
                }
                texts.insert(Array(folder.dropLast()))
                // Object store keys have no slash before them. Digits alone do not count, because they could be a frame
                // rate.
                let isName = inner.contains { (0x61...0x7A).contains($0) } && !Self.mayBeMediaType(inner)
                if isName { words.insert(Array(inner)) }
            }
            // A short parameter could be any attribute, so it does not count.
            let parameters = (url.query ?? "").utf8.split(separator: UInt8(ascii: "&"))
            for parameter in parameters where parameter.count > 7 && parameter.contains(UInt8(ascii: "=")) {
                texts.insert(Self.lowercased(parameter))
                let value = Array(parameter.drop { $0 != UInt8(ascii: "=") }.dropFirst())
                for value in [value, PercentEncoding.decoded(value)] where Self.isSecret(value) {
                    texts.insert(Self.lowercased(value))
                }
            }
        }
        (self.texts, self.words, self.ports) = (Needles(texts), words, ports)
    }

    /// Returns the places that files come from: every host and port, but at most 100 folders, because each of them is
    /// searched for in every text.
    package static func places(of files: Set<MediaURL>) -> [MediaURL] {
        let hosts = Set(
            files.map { MediaURL(scheme: $0.scheme, host: $0.host, port: $0.port, path: "/", query: nil) })
        return Array(hosts) + Set(files.lazy.map(\.folder)).prefix(100)
    }

    /// Returns a URL's path up to its last slash in three spellings: unchanged, percent-decoded and percent-encoded.
    private static func spellings(ofFolder url: MediaURL) -> Set<[UInt8]> {
        let folder = url.folder.path
        let spellings = [Array(folder.utf8), PercentEncoding.decoded(Array(folder.utf8))]
        return Set((spellings + [Array(PercentEncoding.escapingIllegal(folder).utf8)]).map(lowercased))
    }

    /// Returns whether a query value can only be a secret or a name, because it has an unbroken run of letters and
    /// digits that is longer than any in the names of types, schemes, codecs and keys, and that mixes letters with
    /// digits or capitals.
    private static func isSecret(_ value: [UInt8]) -> Bool {
        let isDigit = { (byte: UInt8) in (0x30...0x39).contains(byte) }
        let isCapital = { (byte: UInt8) in (0x41...0x5A).contains(byte) }
        let isLetter = { (byte: UInt8) in (0x61...0x7A).contains(byte | 0x20) }
        return value.split { !isDigit($0) && !isLetter($0) }.contains { run in
            run.count >= 16 && run.contains(where: isLetter) && run.contains { isDigit($0) || isCapital($0) }
        }
    }

    private static func mayBeMediaType(_ text: ArraySlice<UInt8>) -> Bool {
        let types = ["application/", "audio/", "font/", "image/", "text/", "video/"]
        return types.contains { text.starts(with: $0.utf8) && text.count { $0 == UInt8(ascii: "/") } == 1 }
    }

    private static func lowercased(_ text: some Sequence<UInt8>) -> [UInt8] { text.map(\.asciiLowercased) }

    /// Returns whether a text contains a URL, a trace of the origin, or a variable, which could stand for either.
    func isPlace(_ text: some RandomAccessCollection<UInt8>) -> Bool {
        Self.hasMark(text) || text.contains(UInt8(ascii: "%")) && Self.hasMark(PercentEncoding.decoded(Array(text)))
            || isOfOrigin(text)
    }

    private static func hasMark(_ text: some RandomAccessCollection<UInt8>) -> Bool {
        marks.contains { contains($0, in: text) }
    }

    func isPlace(_ text: String) -> Bool { isPlace(Array(text.utf8)) }

    /// Returns whether a text reveals the origin by its host, port, folder or query.
    func isOfOrigin(_ text: some RandomAccessCollection<UInt8>) -> Bool {
        let text = Self.lowercased(text)
        return isOfOrigin(lowercased: text)
            || text.contains(UInt8(ascii: "%"))
                && isOfOrigin(lowercased: Self.lowercased(PercentEncoding.decoded(text)))
    }

    private func isOfOrigin(lowercased text: [UInt8]) -> Bool {
        if texts.areFound(in: text) { return true }
        if words.contains(where: { Self.contains($0, in: text, asWord: true) }) { return true }
        // Numbers in a URN are years and versions, not ports.
        let isName = text.starts(with: "urn:".utf8)
        return !isName && ports.contains { Self.contains($0, in: text) }
    }

    /// Returns whether a reference that no player requests may reveal a place: it names a key to a DRM system, or the
    /// media type of its `data:` URI contains a place.
    func isUnrequestedPlace(_ reference: some RandomAccessCollection<UInt8>) -> Bool {
        switch URLReference.scheme(of: Array(reference)[...]) {
        case "skd": true
        case "data": isPlace(Array(reference.prefix { $0 != UInt8(ascii: ",") }))
        default: false
        }
    }

    private static let marks = ["//", "\\\\", "{$"].map { Array($0.utf8) }

    private static func contains(
        _ needle: [UInt8], in text: some RandomAccessCollection<UInt8>, asWord: Bool = false
    ) -> Bool {
        var rest = text[...]
        var last: UInt8?
        while rest.count >= needle.count {
            if rest.starts(with: needle) {
                let next = rest.dropFirst(needle.count).first
                if !asWord || !(isOfWord(last) || isOfWord(next)) { return true }
            }
            last = rest.popFirst()
        }
        return false
    }

    /// Strings to search for in a text. A single pass finds all but the short ones, because a query may yield very
    /// many.
    private struct Needles: Sendable {
        private static let headBytes = 8
        private var short: [[UInt8]] = []
        /// The strings that are not short, grouped by their first eight bytes.
        private var long: [UInt64: [[UInt8]]] = [:]

        init(_ texts: Set<[UInt8]>) {
            for text in texts {
                guard text.count >= Self.headBytes else {
                    short.append(text)
                    continue
                }
                long[text.prefix(Self.headBytes).reduce(0) { $0 << 8 | UInt64($1) }, default: []].append(text)
            }
        }

        func areFound(in text: [UInt8]) -> Bool {
            if short.contains(where: { OriginTraces.contains($0, in: text) }) { return true }
            guard !long.isEmpty else { return false }
            var head: UInt64 = 0
            for (index, byte) in text.enumerated() {
                head = head << 8 | UInt64(byte)
                let start = index + 1 - Self.headBytes
                guard start >= 0, let candidates = long[head] else { continue }
                if candidates.contains(where: { text[start...].starts(with: $0) }) { return true }
            }
            return false
        }
    }

    private static func isOfWord(_ byte: UInt8?) -> Bool {
        switch byte ?? 0 {
        case 0x30...0x39, 0x61...0x7A, 0x80...0xFF: true
        default: false
        }
    }
}
