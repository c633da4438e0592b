import Foundation
import VaultModel

/// JSON Feed 1.1, and lists in JSON: an array, or an object with `entries`, of URLs or of objects with a `url`.
///
/// Read with Foundation, because the vault's own parser takes no fractions, which feeds have.
enum JSONFeed {
    static func read(_ bytes: [UInt8], at base: MediaURL?) throws(FeedError) -> Feed {
        guard bytes.count <= Feed.maxJSONBytes else { throw .markup(.tooLarge(limit: Feed.maxJSONBytes)) }
        let document: Document
        do {
            document = try JSONDecoder().decode(Document.self, from: data(bytes))
        } catch {
            throw error as? FeedError ?? .json
        }
        guard let entries = document.entries else { throw .notAFeed }
        var feed = Feed(title: document.title)
        feed.picture = Feed.picture([document.icon], at: base)
        for entry in entries {
            guard let entry = entry.value else {
                feed.unusable += 1
                continue
            }
            // An item of a feed names its page as url.
            let address = document.isFeed ? entry.attachment : entry.attachment ?? entry.url ?? ""
            try feed.add(
                address, else: entry.other, guid: entry.id, title: entry.title, date: entry.date,
                pictures: [entry.image], at: base)
        }
        return feed
    }

    /// Returns whether a text is one JSON object that has entries.
    static func hasEntries(_ bytes: [UInt8]) -> Bool {
        (try? JSONDecoder().decode(Document.self, from: data(bytes)))?.entries != nil
    }

    private static func data(_ bytes: [UInt8]) -> Data {
        Data(bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? bytes[3...] : bytes[...])
    }

    private struct Document: Decodable {
        let title: String?
        let icon: String?
        /// Nil if it has none.
        let entries: [Lenient]?
        /// Whether it is JSON Feed.
        let isFeed: Bool

        private enum CodingKeys: CodingKey { case version, title, icon, items, entries }

        init(from decoder: any Decoder) throws {
            if var list = try? decoder.unkeyedContainer() {
                (title, icon, entries, isFeed) = (nil, nil, try Self.entries(of: &list), false)
                return
            }
            let members = try decoder.container(keyedBy: CodingKeys.self)
            title = try? members.decodeIfPresent(String.self, forKey: .title)
            icon = try? members.decodeIfPresent(String.self, forKey: .icon)
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
        var url: String?
        var attachment: String?
        /// The first attachment that is no media.
        var other: String?
        var id: String?
        var title: String?
        var date: String?
        var image: String?

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
            // The names of others may be numbers.
            id = Self.text(.id, members) ?? Self.text(.guid, members)
            title = Self.text(.title, members)
            image = try? members.decode(String.self, forKey: .image)
            date = Self.text(.date, members) ?? Self.text(.published, members) ?? Self.text(.modified, members)
            guard (try? members.decodeNil(forKey: .attachments)) == false else { return }
            var attachments = try members.nestedUnkeyedContainer(forKey: .attachments)
            while attachment == nil, !attachments.isAtEnd {
                let file = try attachments.decode(Attachment.self)
                if FeedMedia.isMedia(type: file.type, medium: nil) {
                    attachment = file.url ?? ""
                } else {
                    other = other ?? file.url
                }
            }
        }

        private static func text(_ key: CodingKeys, _ members: KeyedDecodingContainer<CodingKeys>) -> String? {
            (try? members.decode(String.self, forKey: key))
                ?? (try? members.decode(Int.self, forKey: key)).map(String.init)
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

    /// An entry, or nothing if it is of another form: one odd entry does not spoil the others.
    private struct Lenient: Decodable {
        let value: Entry?

        init(from decoder: any Decoder) throws { value = try? Entry(from: decoder) }
    }
}
