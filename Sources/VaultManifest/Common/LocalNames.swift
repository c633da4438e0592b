package import VaultModel

/// A file to write when a title is copied into a folder.
package struct LocalFile: Hashable, Sendable {
    /// The file's name within the folder.
    package let name: String
    /// The resource that the file's content comes from; nil for an empty file.
    package let url: MediaURL?
    package let role: ManifestReference.Role
    /// The range of the resource to copy; nil for all of it.
    package let range: ByteRange?

    init(_ name: String, _ url: MediaURL?, _ role: ManifestReference.Role, range: ByteRange? = nil) {
        self.name = name
        self.url = url
        self.role = role
        self.range = range
    }
}

/// Names the files of a title that is copied into a folder. A name consists of a number and a known extension, so that
/// nothing in a manifest becomes part of a path.
package struct LocalNames: Sendable {
    /// The files named so far, in order.
    package private(set) var files: [LocalFile] = []
    private var names: [Content: String] = [:]
    private var count = 0
    private let title: Set<MediaURL>

    /// The content of a file, which is empty without a URL. Two empty files differ only in their extensions.
    private struct Content: Hashable {
        var url: MediaURL?
        var range: ByteRange?
        var suffix = ""
    }

    /// - Parameter title: the resources of the title. No other resource that a manifest names gets a file name.
    package init(of title: Set<MediaURL>) { self.title = title }

    /// Returns whether a resource belongs to the title.
    func has(_ url: MediaURL) -> Bool { title.contains(url) }

    /// Returns the file name for a resource or for a range of it, which is the same on each call; nil if the title does
    /// not include the resource.
    package mutating func name(
        of url: MediaURL, _ role: ManifestReference.Role, range: ByteRange? = nil
    ) -> String? {
        guard has(url) else { return nil }
        return name(Content(url: url, range: range), Self.suffix(of: url, role), role)
    }

    /// Returns the name of an empty file, which players skip over.
    ///
    /// - Parameter url: the resource that the empty file replaces; nil if no player could request it.
    mutating func nameOfNothing(at url: MediaURL?, _ role: ManifestReference.Role) -> String {
        let suffix = url.map { Self.suffix(of: $0, role) } ?? "ts"
        return name(Content(suffix: suffix), suffix, role)
    }

    private mutating func name(_ content: Content, _ suffix: String, _ role: ManifestReference.Role) -> String {
        if let name = names[content] { return name }
        let name = nextNumber() + "." + suffix
        names[content] = name
        files.append(LocalFile(name, content.url, role, range: content.range))
        return name
    }

    /// Returns the next number. It begins a file name, or all the names that one template yields.
    mutating func nextNumber() -> String {
        count += 1
        return String(count)
    }

    /// Adds a file whose name a template yields.
    mutating func add(_ file: LocalFile) { files.append(file) }

    /// Returns a URL's extension if players know it, or else the usual extension for the role.
    static func suffix(of url: MediaURL, _ role: ManifestReference.Role) -> String {
        let last = url.path.utf8.split(separator: UInt8(ascii: "/")).last ?? ""[...].utf8
        let suffix = last.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).dropFirst().last
        switch role {
        case .playlist: return "m3u8"
        // ffmpeg reads local files, including keys, only if they have a media extension.
        case .key: return "ts"
        case .initialization, .segment, .data:
            let text = suffix.map { String(Substring($0)).lowercased() } ?? ""
            return known.contains(text) ? text : role == .initialization ? "mp4" : "ts"
        }
    }

    /// The media extensions that players accept in a manifest.
    private static let known: Set<String> = [
        "aac", "ac3", "cmfa", "cmft", "cmfv", "ec3", "jpeg", "jpg", "m4a", "m4s", "m4v", "mp3", "mp4", "png", "ts",
        "ttml", "vtt", "webm", "webp", "webvtt",
    ]
}
