import Foundation
import VaultModel

@testable import VaultManifest

/// An MPD at its origin, and the links of a vault that it is rewritten with.
struct DASHLab {
    static let origin = MediaURL(scheme: "https", host: "origin.example", port: nil, path: "/title/", query: nil)

    /// The URL that the MPD is found at.
    let url: MediaURL
    let manifest: DASHManifest

    init(_ bytes: [UInt8], name: String = "manifest.mpd", limits: ManifestLimits = .standard) throws(ManifestError) {
        url = MediaURL(scheme: "https", host: "origin.example", port: nil, path: "/title/" + name, query: nil)
        manifest = try DASHManifest(bytes, url: url, limits: limits)
    }

    /// An MPD of one Period.
    init(period: String, attributes: String = #"type="static" mediaPresentationDuration="PT4S""#) throws {
        try self.init(Array("<MPD \(attributes)><Period>\(period)</Period></MPD>".utf8))
    }

    var references: [String] { manifest.references.map(Self.text) }

    /// A reference as the corpus writes it: its role, its range, its URL.
    static func text(_ reference: ManifestReference) -> String {
        let url = reference.url.absoluteString
        let shown = url.hasPrefix(origin.absoluteString) ? String(url.dropFirst(origin.absoluteString.count)) : url
        return "\(reference.role) \(reference.range?.httpBytes ?? "-") \(shown)"
    }

    /// Rewrites the MPD with links of a vault.
    func rewritten(hidesNames: Bool = false) throws -> RewrittenMPD {
        let book = LinkBook(manifest: url)
        let bytes = manifest.rewritten(hidesNames: hidesNames) { book.link($0) }
        return RewrittenMPD(
            bytes: bytes, book: book,
            manifest: try DASHManifest(bytes, url: book.address(of: url, number: "m"), limits: .standard))
    }

    /// The text of the rewritten MPD without its declaration.
    func rewrittenText(hidesNames: Bool = false) throws -> String {
        String(decoding: try rewritten(hidesNames: hidesNames).bytes, as: UTF8.self).split(separator: "\n").dropFirst()
            .joined(separator: "\n")
    }
}

/// A rewritten MPD as a player sees it.
struct RewrittenMPD {
    let bytes: [UInt8]
    let book: LinkBook
    /// The MPD, found at the vault's URL for it.
    let manifest: DASHManifest

    /// What the references lead to at the origins; nil for what the vault would not serve.
    var originals: [MediaURL?] { manifest.references.map { book.original(of: $0.url) } }

    /// The URLs that would be requested although no link was given for them.
    var strays: [String] {
        var strays = manifest.references.map(\.url).filter { book.original(of: $0) == nil && !isRefusal($0) }
        _ = manifest.rewritten { reference in
            if reference.url.host != LinkBook.host { strays.append(reference.url) }
            return nil
        }
        return strays.map(\.absoluteString) + addresses.filter { !isHarmless($0) }
    }

    private func isRefusal(_ url: MediaURL) -> Bool {
        url.host == LinkBook.host && (url.path == "/refused" || url.path.hasPrefix("/refused/"))
    }

    /// Everything in a place where a player expects a URL.
    private var addresses: [String] { Self.addresses(in: manifest.root) }

    private static func addresses(in element: MarkupElement) -> [String] {
        guard !["ContentProtection", "Event"].contains(element.localName) else { return [] }
        var found: [String] = []
        switch element.localName {
        case "BaseURL", "Location": found.append(element.text)
        case "SegmentTemplate":
            found += ["media", "index", "initialization", "bitstreamSwitching"].compactMap { element[$0] }
        case "SegmentURL": found += ["media", "index"].compactMap { element[$0] }
        case "Initialization", "RepresentationIndex", "BitstreamSwitching":
            found += [element["sourceURL"]].compactMap(\.self)
        default: break
        }
        return found + element.elements.flatMap { addresses(in: $0) }
    }

    /// Written without the parsers under test: an address is a link, relative, `data:`, or refused.
    private func isHarmless(_ address: String) -> Bool {
        let text = address.trimmingCharacters(in: .whitespacesAndNewlines.union(.controlCharacters)).lowercased()
        if text.hasPrefix("http://\(LinkBook.host):\(LinkBook.port)/d/") || text.hasPrefix("data:") { return true }
        if text.hasPrefix("skd:") || text == "/refused" || text == "/refused/" { return true }
        return !text.hasPrefix("/") && !text.hasPrefix("\\")
            && text.range(of: "^[a-z][a-z0-9+.-]*:", options: .regularExpression) == nil
    }
}

/// The links that a vault gave: each opens one file, or one folder and what is below it.
final class LinkBook {
    static let host = "127.0.0.1"
    static let port = 8300
    private let manifest: MediaURL
    private(set) var references: [ManifestReference] = []

    init(manifest: MediaURL) { self.manifest = manifest }

    func link(_ reference: ManifestReference) -> String {
        references.append(reference)
        return address(of: reference.url, number: "\(references.count - 1)").absoluteString
    }

    /// The vault's URL for a URL of an origin: its path mirrors that of the origin.
    func address(of url: MediaURL, number: String) -> MediaURL {
        MediaURL(
            scheme: "http", host: Self.host, port: Self.port,
            path: "/d/\(number)/\(url.scheme)/\(url.authority)\(url.path)", query: url.query)
    }

    /// The URL that a URL of the vault leads to; nil if no link opens it.
    func original(of url: MediaURL) -> MediaURL? {
        let parts = url.path.split(separator: "/", maxSplits: 4, omittingEmptySubsequences: false)
        guard url.host == Self.host, parts.count == 5, parts[1] == "d" else { return nil }
        let rest = parts[4].split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard rest.count == 2,
            let original = try? MediaURL(
                "\(parts[3])://\(rest[0])/\(rest[1])" + (url.query.map { "?\($0)" } ?? ""))
        else { return nil }
        if parts[2] == "m" { return original.isBelow(manifest.folder) ? original : nil }
        guard let number = Int(parts[2]), references.indices.contains(number) else { return nil }
        let reference = references[number]
        // A link is written with escapes that its URL need not have, as a vault reads it.
        let (asked, opened) = (original.canonical, reference.url.canonical)
        let isOpen = reference.isFolder ? asked.hasPrefix(opened) : asked == opened
        return isOpen ? original : nil
    }
}

/// The MPDs of the corpus.
enum DASHCorpus {
    private static let folder = Bundle.module.bundleURL.appending(path: "Corpus/DASH")

    static let names: [String] = {
        let files = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        return files.filter { $0.hasSuffix(".mpd") }.map { String($0.dropLast(4)) }.sorted()
    }()

    static func bytes(_ name: String) throws -> [UInt8] {
        Array(try Data(contentsOf: folder.appending(path: name + ".mpd")))
    }

    /// The references, written down by hand or as the files that a packager made.
    static func references(_ name: String) throws -> [String] {
        try String(contentsOf: folder.appending(path: name + ".references"), encoding: .utf8).split(separator: "\n")
            .map(String.init)
    }
}
