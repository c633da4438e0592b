import VaultModel

// Work on the bytes of resources that takes a while: downloads, exports and verification.
extension Vault {
    /// Fetches what is missing of a resource, and makes it a download.
    ///
    /// Eviction removes resources that were merely played before downloads. A player waiting for bytes takes precedence
    /// over the download.
    public func download(_ reference: MediaReference, options: DownloadOptions = DownloadOptions()) -> Download {
        Download(loaders: loaders, reference: reference, options: options)
    }

    /// ``download(_:options:)-(MediaReference,_)`` for the resource with this URL.
    public func download(_ url: MediaURL, options: DownloadOptions = DownloadOptions()) -> Download {
        download(MediaReference(url), options: options)
    }

    /// Writes a resource's plaintext into a file: either all of it or no file.
    ///
    /// Only bytes that the index lists as held are written; no origin is contacted, and the vault need not be owned.
    /// Only the file's owner can read the file (mode 0600), and it appears under its name only when it is complete and
    /// durable. A cancelled export leaves nothing behind.
    ///
    /// - Parameters:
    ///   - reference: the resource.
    ///   - path: the absolute path of the file.
    ///   - replacing: whether an existing file of that name is replaced.
    ///   - progress: called at most ten times a second, and at the end.
    /// - Throws: ``VaultError``: `notHeld` with `firstMissing` if bytes are missing, `integrity` if some are damaged,
    ///   `invalidArgument` if the file exists, `diskFull`, `storage`.
    public func export(
        _ reference: MediaReference, to path: String, replacing: Bool = false,
        progress: (ExportProgress) async -> Void = { _ in }
    ) async throws {
        try await ExportJob(loaders: loaders, reference: reference, path: path, replacing: replacing)
            .run(progress: progress)
    }

    /// ``export(_:to:replacing:progress:)-(MediaReference,_,_,_)`` for the resource with this URL.
    public func export(_ url: MediaURL, to path: String, replacing: Bool = false) async throws {
        try await export(MediaReference(url), to: path, replacing: replacing)
    }

    /// Opens every block of every segment in the index, and looks for files that are not in the index.
    ///
    /// A reader can verify; only an owner can repair. A repair invalidates what is damaged and fetches only its ranges
    /// again, of the same representation; orphans are adopted or moved to `quarantine/`. Playback continues meanwhile.
    public func verify(_ options: VerifyOptions = VerifyOptions()) -> Verification {
        Verification(loaders: loaders, tasks: backgroundTasks, options: options)
    }
}
