import MediaVault

/// The first line of the body of `POST /api/v1/imports`; the bytes of the file follow it.
struct ImportDetails: Codable, Sendable {
    /// The number of bytes that follow.
    let length: Int64
    /// The name for the title.
    let name: String?
    /// The media type.
    let type: String?
    /// The media type that the name of the file stands for.
    let fileType: String?
    let pinned: Bool?
    /// Whether the origin is not asked.
    let offline: Bool?

    init(_ source: any ImportSource, _ options: ImportOptions) {
        (length, fileType) = (source.length, source.type)
        (name, type) = (options.name, options.type)
        (pinned, offline) = (options.isPinned, !options.asksOrigin)
    }

    var options: ImportOptions {
        ImportOptions(name: name, type: type, isPinned: pinned ?? false, asksOrigin: !(offline ?? false))
    }
}

/// Where the bytes of a file go.
typealias ImportOrder = ResourceRequest<ImportDetails>
