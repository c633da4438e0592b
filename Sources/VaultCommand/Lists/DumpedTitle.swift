import Foundation
import MediaVault

/// A title from a line of `yt-dlp --dump-json`, with its media's URL, the fields with which to request it, and its
/// name.
struct DumpedTitle: Sendable {
    let url: MediaURL
    /// The display name; nil if the title has none.
    let title: String?
    /// The request fields, which are sent only to the origin of ``url``.
    let fields: HeaderFields

    /// Parses a line.
    ///
    /// - Throws: ``VaultError`` with code `invalidURL` if the line cannot be used. The message repeats nothing from the
    ///   line.
    init(_ line: [UInt8]) throws {
        let page: Page
        do {
            page = try JSONDecoder().decode(Page.self, from: Data(line))
        } catch {
            throw Self.refusal("not a line of yt-dlp --dump-json; print one with yt-dlp -f b --dump-json")
        }
        guard page.type == nil || page.type == "video" else {
            throw Self.refusal("a list of titles and no title; leave out --flat-playlist of yt-dlp")
        }
        let (address, fields) = try Self.media(of: page)
        do {
            url = try MediaURL(address)
        } catch let error as VaultError {
            throw Self.refusal("the URL that yt-dlp names cannot be fetched: \(error.message)")
        }
        title = page.title.flatMap { $0.isEmpty ? nil : $0 }
        do {
            self.fields = try HeaderFile.fields(ofProgram: (fields ?? page.fields ?? [:]).compactMapValues(\.self))
        } catch let error as VaultError {
            throw Self.refusal("the http_headers that yt-dlp states cannot be sent: \(error.message)")
        }
    }

    /// Returns the media's URL, and the fields that the line states only for that URL.
    ///
    /// The URL is that of the page's file or manifest, else of the format with picture and sound, else of the manifest
    /// that names all formats, else of the page itself, if it is a media file.
    private static func media(of page: Page) throws -> (String, [String: String?]?) {
        if let address = page.whole.address { return (address, nil) }
        let formats = page.formats ?? []
        if let both = formats.first(where: { $0.hasAll && $0.address != nil }), let address = both.address {
            return (address, both.fields)
        }
        if let manifest = formats.first?.manifest, formats.allSatisfy({ $0.manifest == manifest }) {
            return (manifest, formats.first?.fields)
        }
        guard formats.isEmpty else {
            throw refusal("picture and sound are in files of their own; choose one file with yt-dlp -f b")
        }
        // A page whose URL yt-dlp merely passes on is not media, unless its name has the extension of the kind that
        // yt-dlp found.
        if let address = page.page, let kind = page.kind, kind != "html",
            (try? MediaURL(address))?.path.lowercased().hasSuffix(".\(kind.lowercased())") == true
        {
            return (address, nil)
        }
        throw refusal("yt-dlp names no media; print the line with yt-dlp -f b --dump-json")
    }

    private static func refusal(_ message: String) -> VaultError { VaultError(.invalidURL, message) }
}

/// The members of a line that are read. All other members are ignored.
private struct Page: Decodable {
    let type: String?
    let title: String?
    let page: String?
    let kind: String?
    let fields: [String: String?]?
    let formats: [Format]?
    /// The page itself, read as if it were a format.
    let whole: Format

    private enum CodingKeys: String, CodingKey {
        case title
        case type = "_type"
        case page = "webpage_url"
        case kind = "ext"
        case fields = "http_headers"
        case formats = "requested_formats"
    }

    init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        type = try members.decodeIfPresent(String.self, forKey: .type)
        title = try members.decodeIfPresent(String.self, forKey: .title)
        page = try members.decodeIfPresent(String.self, forKey: .page)
        kind = try members.decodeIfPresent(String.self, forKey: .kind)
        fields = try members.decodeIfPresent([String: String?].self, forKey: .fields)
        formats = try members.decodeIfPresent([Format].self, forKey: .formats)
        whole = try Format(from: decoder)
    }

    struct Format: Decodable {
        let url: String?
        let manifest: String?
        let transport: String?
        let picture: String?
        let sound: String?
        let fields: [String: String?]?

        private enum CodingKeys: String, CodingKey {
            case url
            case manifest = "manifest_url"
            case transport = "protocol"
            case picture = "vcodec"
            case sound = "acodec"
            case fields = "http_headers"
        }

        /// Whether the format has both picture and sound. If it states nothing about one of them, that one counts as
        /// present.
        var hasAll: Bool { picture != "none" && sound != "none" }

        /// The URL to fetch. For DASH, this is the manifest's URL, because the other URL only names the segments'
        /// folder.
        var address: String? { transport?.hasPrefix("http_dash_segments") == true ? manifest : url }
    }
}
