import VaultModel

/// Reads XML lists that programs write: titles in XSPF, and feeds in OPML. Unlike feeds, these lists are read strictly,
/// because nobody writes them by hand.
enum ListMarkup {
    /// Returns the titles in a playlist (XSPF 1). For each track, the first location that can be fetched counts.
    static func playlist(inXSPF bytes: [UInt8], at base: MediaURL?) throws(FeedError) -> Feed {
        let root = try root(of: bytes)
        let outer = FeedReference.base(root["xml:base"], at: base)
        var feed = Feed(title: root.first("title").flatMap { PlainText.folded($0.text) })
        feed.picture = FeedReference.picture([root.first("image")?.text], at: outer)
        for list in root.elements("trackList") {
            let inner = FeedReference.base(list["xml:base"], at: outer)
            for track in list.elements("track") {
                let place = FeedReference.base(track["xml:base"], at: inner)
                let entry = StatedEntry(
                    files: track.elements("location").map { EntryFile(reference: $0.text, base: $0["xml:base"]) },
                    title: track.first("title").flatMap { PlainText.folded($0.text) },
                    pictures: [track.first("image")?.text])
                try feed.add(entry, at: place)
            }
        }
        return feed
    }

    /// Returns the feeds that an outline names (OPML 2), each once, in the outline's order.
    static func feeds(inOPML bytes: [UInt8], at base: MediaURL?) throws(FeedError) -> [MediaURL] {
        var feeds: [MediaURL] = []
        var known: Set<MediaURL> = []
        var waiting = [try root(of: bytes)]
        while let element = waiting.popLast() {
            let reference = element.attributes.first { $0.name.lowercased() == "xmlurl" }?.value.trimmingSpace()
            if let url = reference?.nonEmpty.flatMap({ FeedReference.url($0, at: base) }), known.insert(url).inserted {
                feeds.append(url)
            }
            waiting += element.elements.reversed()
        }
        return feeds
    }

    private static func root(of bytes: [UInt8]) throws(FeedError) -> MarkupElement {
        do throws(ManifestError) {
            return try MarkupReader.read(withoutProlog(bytes), limits: .standard)
        } catch {
            throw .list(error)
        }
    }

    /// Returns a text without its prolog, because the encoding stated there no longer applies to the decoded text.
    private static func withoutProlog(_ bytes: [UInt8]) -> [UInt8] {
        let text = bytes.drop { $0 <= 0x20 }
        guard text.starts(with: "<?xml".utf8), let end = text.firstIndex(of: UInt8(ascii: ">")) else {
            return Array(text)
        }
        return Array(text[(end + 1)...])
    }
}
