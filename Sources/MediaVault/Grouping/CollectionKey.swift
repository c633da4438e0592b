import Foundation
import VaultCrypto
import VaultModel

/// What makes titles belong together.
public enum CollectionKind: String, Codable, CaseIterable, Sendable {
    /// The owner moved the titles together.
    case own
    /// A feed or list that the vault follows names them.
    case feed
    /// They are episodes of a series.
    case series
    /// They are tracks of an album, or chapters of a book.
    case album
    /// They are numbered files of one folder.
    case folder
}

/// Identifies a collection within a vault. It is stored nowhere but in sealed records.
struct CollectionKey: Hashable, Sendable {
    let kind: CollectionKind
    /// The text that the titles of the collection, and no others of the kind, have in common.
    let text: String

    /// The key as bytes.
    var bytes: [UInt8] { Array("\(kind.rawValue):\(text)".utf8) }

    /// The key as the record of a viewer has it, where its length does not depend on the text.
    var mark: CollectionMark { CollectionMark(hash: KeyDerivation.checksum(.collection, bytes)) }

    /// Returns the key of the collection to which a title belongs; nil if it belongs to none.
    ///
    /// The first of these decides: where the owner moved the title, the feed that names it, its series, its album, and
    /// its folder. Two albums of one name are told apart by their folders, in which several discs of one album count as
    /// one.
    ///
    /// - Parameter feed: the subscription that names the title; nil if there is none.
    init?(of title: ResourceSummary, in feed: SubscriptionID?) {
        if let moved = title.collection {
            self.init(kind: .own, text: Self.comparable(moved))
        } else if let feed {
            self.init(kind: .feed, text: feed.hex)
        } else if let series = title.tags?.series {
            self.init(kind: .series, text: Self.comparable(series))
        } else if let album = title.tags?.album {
            self.init(kind: .album, text: "\(Self.comparable(album))\n\(Self.folder(of: title) ?? "")")
        } else if title.tags?.isNumbered == true, let folder = Self.folder(of: title) {
            self.init(kind: .folder, text: folder)
        } else {
            return nil
        }
    }

    init(kind: CollectionKind, text: String) { (self.kind, self.text) = (kind, text) }

    /// Returns a name in the form in which names are compared.
    static func comparable(_ name: String) -> String {
        name.folding(options: [.caseInsensitive, .diacriticInsensitive, .widthInsensitive], locale: nil)
    }

    /// Returns the part of a title's URL that the files of its folder share; nil if it is the whole host.
    ///
    /// A playlist has a folder of its own, so that the folder around that one counts.
    private static func folder(of title: ResourceSummary) -> String? {
        var parts = FileName.path(of: title.url).dropLast(title.isManifest ? 2 : 1)
        if let last = parts.last, isDisc(last) { parts.removeLast() }
        guard !parts.isEmpty, let scheme = title.url.range(of: "://") else { return nil }
        let host = title.url[scheme.upperBound...].prefix { $0 != "/" }
        return ([host] + parts).joined(separator: "/")
    }

    /// The name of the folder of a key of a folder, as people read it; nil if it says nothing to them. That of a season
    /// is preceded by that of the series, which the folder around it names.
    var folderName: String? {
        guard kind == .folder else { return nil }
        let names = text.split(separator: "/").dropFirst().map { FileName($0).name }
        guard let last = names.last ?? nil else { return nil }
        guard Self.isNumbered(last, ["season", "staffel", "saison", "series", "volume", "vol"]),
            let around = names.dropLast().last ?? nil
        else { return last }
        return "\(around), \(last)"
    }

    private static func isDisc(_ folder: Substring) -> Bool { isNumbered(folder, ["disc", "disk", "cd"]) }

    /// Returns whether a name is one of some words and a number of one or two digits.
    private static func isNumbered(_ name: some StringProtocol, _ words: [String]) -> Bool {
        let name = name.lowercased().filter { $0.isLetter || $0.isNumber }
        let number = words.first(where: name.hasPrefix).map { name.dropFirst($0.count) }
        return number.map { (1...2).contains($0.count) && $0.allSatisfy(\.isNumber) } ?? false
    }
}
