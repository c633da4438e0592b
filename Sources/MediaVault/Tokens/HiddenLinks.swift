import VaultCrypto
import VaultModel

/// A title, and the viewer for whom a link hides the title's origin.
///
/// Once the title is no longer shared with the viewer, the link opens nothing.
package struct HiddenTitle: Hashable, Sendable {
    package let title: TitleID
    package let viewer: ViewerID

    package init(title: TitleID, viewer: ViewerID) { (self.title, self.viewer) = (title, viewer) }
}

/// Writes and reads playback links that reveal nothing about an origin: `/media/v/<sealed link>/<rest>`.
///
/// The sealed link contains the viewer, the title, and another link of the vault with its capability. The rest is
/// `title` with the suffix of the origin's file, so that players know what format to expect. In a link that leads on,
/// such as one to a DASH manifest or to the folder of its segments, a different rest replaces the last part of the
/// sealed link's path.
struct HiddenLinks {
    private let keyring: Keyring
    private let key: SharedKey

    /// The prefix of every such link.
    private static let prefix = "/media/v/"
    /// The file name at the end of the link, before its suffix.
    private static let name = "title"
    /// The first byte of the sealed link, which shows whether the link leads on.
    private static let (ends, leadsOn): (UInt8, UInt8) = (0, 1)
    private static let titleByteCount = 8
    private static let maxSuffixLength = 5
    /// The maximum length of a target, in bytes. The head of a request has space for less than this.
    private static let maxBytes = 64 << 10

    /// Creates a reader and writer of links with the keyring's link key.
    ///
    /// - Throws: ``VaultError`` with code `storage` if there is no memory for the key.
    init(_ keyring: Keyring) throws {
        self.keyring = keyring
        key = try keyring.linkKey()
    }

    /// Returns whether a target may be such a link. False means that it certainly is not.
    static func mayBe(_ target: String) -> Bool { target.utf8.starts(with: prefix.utf8) }

    /// Returns the path of a hidden link that stands for another link.
    ///
    /// - Parameter leadsOn: whether relative references in the link's content resolve to paths below the link.
    func path(for target: String, _ hidden: HiddenTitle, leadsOn: Bool) -> String {
        let head = [leadsOn ? Self.leadsOn : Self.ends] + hidden.viewer.bytes + Array(hidden.title.description.utf8)
        let sealed = keyring.sealLink(head + Array(target.utf8), under: key)
        return Self.prefix + Base64.encodeForURL(sealed) + "/" + Self.name(of: target)
    }

    /// A hidden link that was opened.
    struct Opened {
        /// The target of the link for which the hidden link stands.
        let target: String
        let hidden: HiddenTitle
        /// Whether the target was found relative to that of the sealed link.
        let isBelow: Bool
    }

    /// Opens a target; nil if it is not a hidden link of this vault, or was changed.
    func open(_ target: String) -> Opened? {
        guard Self.mayBe(target), target.utf8.count <= Self.maxBytes else { return nil }
        let parts = target.utf8.dropFirst(Self.prefix.utf8.count)
            .split(separator: UInt8(ascii: "/"), maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let sealed = Base64.decodeFromURL(String(Substring(parts[0]))),
            let plain = Keyring.openLink(sealed, under: key), let first = plain.first
        else { return nil }
        let (viewer, rest) = (plain.dropFirst().prefix(ViewerKind.byteCount), plain.dropFirst(1 + ViewerKind.byteCount))
        guard let viewer = ViewerID(bytes: Array(viewer)),
            let title = String(validating: rest.prefix(Self.titleByteCount), as: UTF8.self).flatMap({ TitleID($0) }),
            let inner = String(validating: rest.dropFirst(Self.titleByteCount), as: UTF8.self)
        else { return nil }
        let hidden = HiddenTitle(title: title, viewer: viewer)
        let name = String(Substring(parts[1]))
        // A folder itself is not a file of the title, and an origin may respond to it with a list of everything in the
        // folder.
        if first == Self.leadsOn, name.isEmpty { return nil }
        if name == Self.name(of: inner) { return Opened(target: inner, hidden: hidden, isBelow: false) }
        guard first == Self.leadsOn else { return nil }
        return Opened(target: Self.folder(of: inner) + name, hidden: hidden, isBelow: true)
    }

    private static func path(of target: String) -> Substring { target.prefix { $0 != "?" } }

    /// Returns the beginning of a target up to the last slash of its path.
    private static func folder(of target: String) -> String {
        let path = path(of: target)
        let end = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { path.utf8.index(after: $0) } ?? path.endIndex
        return String(path[..<end])
    }

    /// Returns the name that follows the sealed link; empty if the target is a folder.
    private static func name(of target: String) -> String {
        let path = path(of: target)
        guard path.utf8.last != UInt8(ascii: "/") else { return "" }
        let file = path.utf8.split(separator: UInt8(ascii: "/")).last ?? ""[...].utf8
        guard let dot = file.lastIndex(of: UInt8(ascii: ".")) else { return name }
        let suffix = file[file.index(after: dot)...]
        let isPlain = suffix.allSatisfy { (0x61...0x7A).contains($0 | 0x20) || (0x30...0x39).contains($0) }
        guard isPlain, (1...maxSuffixLength).contains(suffix.count) else { return name }
        return "\(name).\(String(Substring(suffix)).lowercased())"
    }
}
