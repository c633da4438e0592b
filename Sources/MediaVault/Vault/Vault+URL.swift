// The same for resources that a URL alone names.
extension Vault {
    /// ``information(for:)-(MediaReference)`` of the resource that a URL names.
    public func information(for url: MediaURL) async throws -> ContentInformation {
        try await information(for: MediaReference(url))
    }

    /// ``head(of:)-(MediaReference)`` of the resource that a URL names.
    public func head(of url: MediaURL) async throws -> MediaHead { try await head(of: MediaReference(url)) }

    /// ``read(_:range:)-(MediaReference,_)`` of the resource that a URL names.
    public func read(_ url: MediaURL, range: RequestedRange = .whole) async throws -> MediaReader {
        try await read(MediaReference(url), range: range)
    }

    /// ``download(_:options:)-(MediaReference,_)`` of the resource that a URL names.
    public func download(_ url: MediaURL, options: DownloadOptions = DownloadOptions()) -> Download {
        download(MediaReference(url), options: options)
    }

    /// ``summary(of:)-(MediaReference)`` of the resource that a URL names.
    public func summary(of url: MediaURL) async throws -> ResourceSummary? {
        try await summary(of: MediaReference(url))
    }

    /// ``export(_:to:replacing:progress:)-(MediaReference,_,_,_)`` of the resource that a URL names.
    public func export(_ url: MediaURL, to path: String, replacing: Bool = false) async throws {
        try await export(MediaReference(url), to: path, replacing: replacing)
    }
}
