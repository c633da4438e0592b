import VaultCache
import VaultManifest
public import VaultModel
import VaultStorage

/// The options of ``FileTransfer/importFile(at:as:options:)-(_,MediaReference,_)``.
public struct ImportOptions: Hashable, Sendable {
    /// The title's name; nil to keep its current name, or to take the one stated in its media.
    public var name: String?
    /// The media type; nil to take it from the origin, or to guess it from the URL or the file name.
    public var type: String?
    /// Whether the title is pinned.
    public var isPinned: Bool
    /// Whether to compare the file with the origin's bytes, if the vault's mode allows requests.
    public var asksOrigin: Bool

    /// Creates options. By default, the file is compared with the origin's bytes, and the title is not pinned.
    public init(name: String? = nil, type: String? = nil, isPinned: Bool = false, asksOrigin: Bool = true) {
        self.name = name
        self.type = type
        self.isPinned = isPinned
        self.asksOrigin = asksOrigin
    }

    /// Checks everything that can be checked before the file is read.
    ///
    /// - Parameters:
    ///   - url: the URL of the title.
    ///   - fileType: the media type that the file name implies.
    ///   - held: what the vault holds of the title.
    /// - Throws: ``VaultError`` with code `invalidArgument` for a playlist, or if the type or the name cannot be used;
    ///   `inUse` if bytes of the title are held.
    package func check(for url: MediaURL, fileType: String?, held: ResourceSummary?) throws {
        try check()
        try requireSingleFile(url, type: type ?? MediaType.guess(path: url.path) ?? fileType)
        guard let held, held.wholeBytes > 0 else { return }
        throw Imports.alreadyHeld(held.wholeBytes, isWhole: held.isWhole)
    }

    /// Refuses a manifest, because an import would lack the resources that the manifest names.
    ///
    /// - Parameter head: the first bytes of the file, if they are known.
    func requireSingleFile(_ url: MediaURL, type: String?, beginning head: [UInt8] = []) throws {
        guard ManifestDetection.kind(type: type, path: url.path) == nil, ManifestDetection.kind(of: head) == nil else {
            throw VaultError(
                .invalidArgument,
                "\(url) is a playlist, and only a title of one file can be imported; fetch the title")
        }
    }

    /// Checks the type and the name.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` if the type or the name cannot be used.
    public func check() throws {
        guard type.map({ MediaType.one($0) != nil }) ?? true else {
            throw VaultError(.invalidArgument, "a media type must be one such as video/mp4")
        }
        guard name.map({ MediaName.cleaned($0) != nil }) ?? true else {
            throw VaultError(.invalidArgument, "the name is empty; give another, or none")
        }
    }
}

/// The progress of an import.
public struct ImportProgress: Hashable, Codable, Sendable {
    /// The number of bytes sealed so far.
    public let stored: Int64
    /// The number of bytes in the file.
    public let total: Int64
    /// The result; nil except in the last element. Not part of the JSON.
    public internal(set) var report: ImportReport?

    private enum CodingKeys: CodingKey { case stored, total }

    package init(stored: Int64, total: Int64, report: ImportReport? = nil) {
        (self.stored, self.total, self.report) = (stored, total, report)
    }
}

/// The result of an import.
public struct ImportReport: Hashable, Codable, Sendable {
    /// The outcome of the comparison with the origin's bytes.
    public enum Origin: String, Hashable, CaseIterable, Codable, Sendable {
        /// The bytes were the same in every sample compared, so the title counts as a copy of the origin's version.
        case same
        /// The origin was not reached, or did not send a usable answer. The vault compares the title once it reaches
        /// the origin.
        case unreached
        /// The origin was not asked. The vault compares the title once it reaches the origin.
        case unasked
    }

    /// The id of the title.
    public let id: TitleID
    /// The URL, without its query.
    public let url: String
    /// The number of bytes stored.
    public let bytes: Int64
    /// The media type; nil if it is not known.
    @OrNull public internal(set) var type: String?
    /// The outcome of the comparison with the origin's bytes.
    public let origin: Origin

    package init(id: TitleID, url: String, bytes: Int64, type: String?, origin: Origin) {
        (self.id, self.url, self.bytes, self.origin) = (id, url, bytes, origin)
        self.type = type
    }
}
