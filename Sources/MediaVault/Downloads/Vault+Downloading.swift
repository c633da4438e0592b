extension Vault {
    /// Fetches what is missing of a resource; its bytes are kept before those of what was merely played. A player that
    /// waits for bytes of its own has them first.
    public func download(_ reference: MediaReference, options: DownloadOptions = DownloadOptions()) -> Download {
        Download(vault: self, reference: reference, options: options)
    }

    /// Fetches what is missing; returns when all of it is durable.
    func fill(
        _ reference: MediaReference, _ options: DownloadOptions, tell: @escaping @Sendable (DownloadProgress) -> Void
    ) async throws {
        let (loader, lease) = try await use(reference)
        defer { withExtendedLifetime(lease) {} }
        try await Filling(loader, options, tell: tell).run()
    }
}
