package import VaultModel

/// A file of a title that was copied into a folder.
package struct LocalFile: Hashable, Sendable {
    /// The name within the folder.
    package let name: String
    /// Where its content comes from.
    package let url: MediaURL
    package let role: ManifestReference.Role
}

/// Names the files of a title in a folder: a number and a known extension, so that nothing in a manifest becomes a path.
package struct LocalNames: Sendable {
    /// The files named so far, in order.
    package private(set) var files: [LocalFile] = []
    private var names: [MediaURL: String] = [:]
    private var count = 0
    /// What is named and not there; see ``ManifestReference/mayBeAbsent``.
    let absent: Set<MediaURL>

    /// - Parameter absent: the last segments that are not there, so that nothing names them.
    package init(absent: Set<MediaURL> = []) { self.absent = absent }

    /// Returns the name of a resource, always the same for the same URL; nil for what no player needs to play.
    package mutating func name(of url: MediaURL, _ role: ManifestReference.Role) -> String? {
        guard role != .data else { return nil }
        if let name = names[url] { return name }
        let name = nextNumber() + "." + Self.suffix(of: url, role)
        names[url] = name
        files.append(LocalFile(name: name, url: url, role: role))
        return name
    }

    /// Returns the beginning of names that a template makes.
    mutating func nextNumber() -> String {
        count += 1
        return String(count)
    }

    /// Adds a file that a template names.
    mutating func add(_ file: LocalFile) { files.append(file) }

    /// Returns the extension of a URL if players know it, else the usual one.
    static func suffix(of url: MediaURL, _ role: ManifestReference.Role) -> String {
        let last = url.path.utf8.split(separator: UInt8(ascii: "/")).last ?? ""[...].utf8
        let suffix = last.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).dropFirst().last
        switch role {
        case .playlist: return "m3u8"
        // ffmpeg reads no local file without an extension of media, and no key either.
        case .key: return "ts"
        case .initialization, .segment, .data:
            let text = suffix.map { String(Substring($0)).lowercased() } ?? ""
            return known.contains(text) ? text : role == .initialization ? "mp4" : "ts"
        }
    }

    /// Extensions of media that players accept in a manifest.
    private static let known: Set<String> = [
        "aac", "ac3", "cmfa", "cmft", "cmfv", "ec3", "m4a", "m4s", "m4v", "mp3", "mp4", "ts", "ttml", "vtt", "webm",
        "webvtt",
    ]
}
