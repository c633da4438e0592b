package import VaultModel

/// What would show in a manifest where it came from: the host, the port and the folder of its origin.
package struct OriginTraces: Sendable {
    /// In lower case, as the others.
    private let texts: [[UInt8]]
    private let ports: [[UInt8]]

    /// - Parameter urls: that of the manifest, and that which it was redirected to.
    package init(_ urls: [MediaURL]) {
        var texts: Set<String> = []
        var ports: Set<String> = []
        for url in urls {
            // A host without a dot could be any word.
            if url.host.contains(".") || url.host.contains(":") { texts.insert(url.host.lowercased()) }
            // A shorter number might be a time of day.
            if let port = url.port, port > 99 { ports.insert(":\(port)") }
            let folder = url.path.prefix(through: url.path.lastIndex(of: "/") ?? url.path.startIndex)
            if folder.utf8.count > 2 { texts.insert(folder.lowercased()) }
        }
        self.texts = texts.sorted().map { Array($0.utf8) }
        self.ports = ports.sorted().map { Array($0.utf8) }
    }

    /// Returns whether a text names a place: a URL, the origin, or a variable, which could stand for one.
    func isPlace(_ text: some RandomAccessCollection<UInt8>) -> Bool {
        Self.marks.contains { Self.contains($0, in: text) } || isOfOrigin(text)
    }

    func isPlace(_ text: String) -> Bool { isPlace(Array(text.utf8)) }

    /// Returns whether a text names the origin, by its host, its port or its folder.
    func isOfOrigin(_ text: some RandomAccessCollection<UInt8>) -> Bool {
        if texts.contains(where: { Self.contains($0, in: text) }) { return true }
        // The numbers of a URN are years and versions.
        let isName = text.starts(with: "urn:".utf8) { $0.asciiLowercased == $1 }
        return !isName && ports.contains { Self.contains($0, in: text) }
    }

    private static let marks = ["//", "\\\\", "{$"].map { Array($0.utf8) }

    /// Compares without regard to the case of ASCII, as hosts are compared.
    private static func contains(_ needle: [UInt8], in text: some RandomAccessCollection<UInt8>) -> Bool {
        var rest = text[...]
        while rest.count >= needle.count {
            if rest.starts(with: needle, by: { $0.asciiLowercased == $1 }) { return true }
            rest = rest.dropFirst()
        }
        return false
    }
}
