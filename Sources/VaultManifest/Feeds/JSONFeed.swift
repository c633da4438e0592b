import Foundation
import VaultModel

/// Reads JSON Feed 1.1, and lists in JSON: an array, or an object with `entries`, of URLs or of objects with a `url`.
///
/// Foundation parses the JSON, because the vault's own parser refuses fractions, which feeds contain.
enum JSONFeed {
    static func read(_ bytes: [UInt8], at base: MediaURL?) throws(FeedError) -> Feed {
        guard bytes.count <= Feed.maxJSONBytes else { throw .tooLarge(limit: Feed.maxJSONBytes) }
        let document: Document
        do {
            document = try JSONDecoder().decode(Document.self, from: Data(bytes))
        } catch {
            throw error as? FeedError ?? .json(place(ofFaultIn: bytes))
        }
        guard let entries = document.entries else { throw .notAFeed }
        var feed = Feed(title: document.title.flatMap(PlainText.folded))
        feed.picture = FeedReference.picture([document.icon], at: base)
        feed.next = document.next?.nonEmpty.flatMap { FeedReference.url($0, at: base) }
        for entry in entries {
            guard let entry = entry.value else {
                feed.unusable += 1
                continue
            }
            // In JSON Feed, an item's `url` is that of its web page.
            try feed.add(entry.stated(takesURL: !document.isFeed), at: base)
        }
        return feed
    }

    /// Returns whether a text is a single JSON object that has entries.
    static func hasEntries(_ bytes: [UInt8]) -> Bool {
        (try? JSONDecoder().decode(Document.self, from: Data(bytes)))?.entries != nil
    }

    /// Returns the place of a fault in JSON; nil if Foundation does not report it.
    private static func place(ofFaultIn bytes: [UInt8]) -> TextPlace? {
        do {
            _ = try JSONSerialization.jsonObject(with: Data(bytes), options: .fragmentsAllowed)
            return nil
        } catch {
            // Foundation states the byte's index only in its message, and states none if the fault is at the end of the
            // text.
            let words = "\((error as NSError).userInfo[NSDebugDescriptionErrorKey] ?? "")"
            if let found = words.firstMatch(of: /around character (\d+)/), let index = Int(found.1) {
                return TextPlace(of: min(index, bytes.count), in: bytes)
            }
            return words.contains("end of file") ? TextPlace(of: bytes.count, in: bytes) : nil
        }
    }

    private struct Document: Decodable {
        let title: String?
        let icon: String?
        /// The reference to the page with older items.
        let next: String?
        /// The entries; nil if the document has no list of them.
        let entries: [Lenient]?
        /// Whether the document is a JSON Feed.
        let isFeed: Bool

        private enum CodingKeys: String, CodingKey {
            case version, title, icon, items, entries
            case next = "next_url"
        }

        init(from decoder: any Decoder) throws {
            if var list = try? decoder.unkeyedContainer() {
                (title, icon, next, entries, isFeed) = (nil, nil, nil, try Self.entries(of: &list), false)
                return
            }
            let members = try decoder.container(keyedBy: CodingKeys.self)
            title = try? members.decodeIfPresent(String.self, forKey: .title)
            icon = try? members.decodeIfPresent(String.self, forKey: .icon)
            next = try? members.decodeIfPresent(String.self, forKey: .next)
            isFeed = members.contains(.items)
            let key = isFeed ? CodingKeys.items : .entries
            guard members.contains(key) else {
                entries = nil
                return
            }
            var list = try members.nestedUnkeyedContainer(forKey: key)
            entries = try Self.entries(of: &list)
        }

        private static func entries(of list: inout any UnkeyedDecodingContainer) throws -> [Lenient] {
            var found: [Lenient] = []
            while !list.isAtEnd {
                guard found.count < Feed.maxEntries else { throw FeedError.tooManyEntries }
                found.append(try list.decode(Lenient.self))
            }
            return found
        }
    }

    private struct Entry: Decodable {
        private var url: String?
        private var attachments: [Attachment] = []
        private var id: String?
        private var title: String?
        private var dates: [String] = []
        private var image: String?

        private enum CodingKeys: String, CodingKey {
            case url, id, guid, title, date, image, attachments
            case published = "date_published"
            case modified = "date_modified"
        }

        init(from decoder: any Decoder) throws {
            if let text = try? decoder.singleValueContainer().decode(String.self) {
                url = text
                return
            }
            let members = try decoder.container(keyedBy: CodingKeys.self)
            url = try members.decodeIfPresent(String.self, forKey: .url)
            // Outside JSON Feed, ids may be numbers.
            id = Self.text(.id, members) ?? Self.text(.guid, members)
            title = Self.text(.title, members)
            image = try? members.decode(String.self, forKey: .image)
            dates = [CodingKeys.date, .published, .modified].compactMap { Self.text($0, members) }
            attachments = try members.decodeIfPresent([Attachment].self, forKey: .attachments) ?? []
        }

        private static func text(_ key: CodingKeys, _ members: KeyedDecodingContainer<CodingKeys>) -> String? {
            (try? members.decode(String.self, forKey: key))
                ?? (try? members.decode(Int.self, forKey: key)).map(String.init)
        }

        /// Returns the facts that the entry states.
        ///
        /// - Parameter takesURL: whether the entry's own URL counts as that of a file if no attachment is media.
        func stated(takesURL: Bool) -> StatedEntry {
            var files = attachments.map { EntryFile(reference: $0.url, type: $0.type) }
            if takesURL, !files.contains(where: \.isMedia) { files.append(EntryFile(reference: url)) }
            return StatedEntry(
                files: files, guid: id, title: title.flatMap(PlainText.folded), dates: dates, pictures: [image])
        }

        struct Attachment: Decodable {
            let url: String?
            let type: String?

            private enum CodingKeys: String, CodingKey {
                case url
                case type = "mime_type"
            }
        }
    }

    /// An entry; nil if it is malformed, so that the others can still be read.
    private struct Lenient: Decodable {
        let value: Entry?

        init(from decoder: any Decoder) throws { value = try? Entry(from: decoder) }
    }
}
