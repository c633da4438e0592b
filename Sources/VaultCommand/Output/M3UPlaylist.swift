import Foundation
import MediaVault
import VaultService

/// An extended M3U playlist, which contains the names, durations and links of titles.
enum M3UPlaylist {
    struct Entry: Hashable, Sendable {
        let name: String
        /// The playing time in seconds; nil if it is unknown.
        let duration: Int64?
        let link: String
    }

    /// - Parameter isShown: whether the text is shown at a terminal, which must not obey control characters in a name.
    static func text(_ entries: [Entry], isShown: Bool = false) -> String {
        entries.reduce(into: "#EXTM3U\n") { text, entry in
            let name = isShown ? Terminal.printable(line(entry.name)) : line(entry.name)
            text += "#EXTINF:\(entry.duration ?? -1),\(name)\n\(entry.link)\n"
        }
    }

    /// Returns a name as one line. Line breaks are removed, because they would begin another entry, which a player
    /// would open.
    private static func line(_ name: String) -> String {
        let breaks: Set<Unicode.GeneralCategory> = [.control, .lineSeparator, .paragraphSeparator]
        let kept = name.unicodeScalars.map { breaks.contains($0.properties.generalCategory) ? " " : $0 }
        let words = String(String.UnicodeScalarView(kept)).split(separator: " ")
        return words.isEmpty ? "-" : words.joined(separator: " ")
    }

    /// Returns the name for players to show for a title, which is its name, else the last part of its URL, else its
    /// host.
    static func name(_ name: String?, _ url: MediaURL) -> String {
        let last = url.path.split(separator: "/").last.map(String.init)
        return name ?? last.map { $0.removingPercentEncoding ?? $0 } ?? url.host
    }
}
