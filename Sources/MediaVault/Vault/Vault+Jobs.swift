import VaultModel
import VaultStorage

// Longer work on the bytes of resources: downloads, exports and verification.
extension Vault {
    /// Fetches the missing bytes of a resource, and makes it a download.
    ///
    /// If the resource is the manifest of a title, everything that the chosen renditions need is fetched with it,
    /// several resources at a time: ``DownloadOptions/selection``. If an origin refuses a part, the others are still
    /// fetched, but the title stays incomplete, and the error names the first such part. A live title is refused,
    /// because it has no end.
    ///
    /// It continues where an earlier download stopped, and ends when everything is held. Its progress is reported at
    /// most ten times a second. Eviction removes resources that were merely played before downloads. A player waiting
    /// for bytes takes precedence over the download.
    ///
    /// - Returns: the progress; iterating throws ``VaultError`` if the download cannot continue.
    public func download(
        _ reference: MediaReference, options: DownloadOptions = DownloadOptions()
    ) -> ProgressSequence<DownloadProgress> {
        ProgressSequence(among: nil) { [loaders] tell in
            try await TitleJob(loaders, reference, options, tell: tell).run()
        }
    }

    /// Downloads as ``download(_:options:)-(MediaReference,_)`` does, for the resource with this URL.
    public func download(
        _ url: MediaURL, options: DownloadOptions = DownloadOptions()
    ) -> ProgressSequence<DownloadProgress> {
        download(MediaReference(url), options: options)
    }

    /// Writes a resource's plaintext into a file: either all of it or no file.
    ///
    /// A title of several resources becomes a folder that plays by itself: its manifest, `index.m3u8` or
    /// `manifest.mpd`, names files beside it. File names are numbers; nothing in a manifest becomes a path. An existing
    /// folder is never replaced.
    ///
    /// Only bytes that the index lists as held are written; no origin is contacted, and this process need not be the
    /// owner. Only the file's owner can read the file (mode 0600; a folder has mode 0700), and it appears under its
    /// name only when it is complete and durable. A cancelled export leaves nothing behind.
    ///
    /// - Parameters:
    ///   - reference: the resource.
    ///   - path: the absolute path of the file, or of the folder.
    ///   - replacing: whether to replace an existing file at this path.
    ///   - progress: called at most ten times a second, and at the end.
    /// - Throws: ``VaultError``: `notHeld` with `firstMissing` if bytes are missing, `integrity` if some are damaged,
    ///   `invalidArgument` if the file exists, `diskFull`, `storage`.
    public func export(
        _ reference: MediaReference, to path: String, replacing: Bool = false,
        progress: (ExportProgress) async -> Void = { _ in }
    ) async throws {
        if try await summary(of: reference)?.title != nil {
            try await TitleExport(loaders: loaders, title: try await name(reference), path: path)
                .run(progress: progress)
        } else {
            try await ExportJob(loaders: loaders, reference: reference, path: path, replacing: replacing)
                .run(progress: progress)
        }
    }

    /// Exports as ``export(_:to:replacing:progress:)-(MediaReference,_,_,_)`` does, for the resource with this URL.
    public func export(_ url: MediaURL, to path: String, replacing: Bool = false) async throws {
        try await export(MediaReference(url), to: path, replacing: replacing)
    }

    /// Opens every block of every segment in the index, and looks for files that are not in the index.
    ///
    /// A reader can verify; only an owner can repair. A repair invalidates what is damaged, and fetches only the
    /// damaged ranges again, of the same representation; orphans are adopted or moved to `quarantine/`. Playback
    /// continues.
    ///
    /// - Parameters:
    ///   - options: how much to check, how fast, and whether to repair damage.
    ///   - references: the resources to check, titles with all their parts; empty for everything.
    /// - Returns: the progress, reported at most ten times a second; the last element contains the report. Iterating
    ///   throws ``VaultError`` if the index cannot be read, and with code `notHeld` if the vault does not know one of
    ///   the resources.
    public func verify(
        _ options: VerifyOptions = VerifyOptions(), of references: [MediaReference] = []
    ) -> ProgressSequence<VerifyProgress> {
        ProgressSequence(among: backgroundTasks) { [loaders] tell in
            try options.check(isOwner: loaders.environment.store.isOwner)
            var verifier = Verifier(loaders: loaders, options: options, tell: tell)
            try await verifier.run(references)
        }
    }
}
