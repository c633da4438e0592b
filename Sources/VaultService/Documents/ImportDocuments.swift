import MediaVault

/// The first line of the body of `POST /api/v1/imports`; the file's bytes follow it.
struct ImportDetails: Codable, Sendable {
    /// The number of bytes in the file.
    let length: Int64
    /// The name to give the title.
    let name: String?
    /// The media type that the caller specifies.
    let type: String?
    /// The media type that the file name implies.
    let fileType: String?
    let pinned: Bool?
    /// Whether to import without contacting the origin.
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

/// A request to import the bytes of a file as a resource.
typealias ImportOrder = ResourceRequest<ImportDetails>
