import VaultModel
import VaultStorage

// Longer work on resources' bytes: downloads, exports and verification.
extension Vault {
    /// Fetches the missing bytes of a resource, and makes it a download.
    ///
    /// If the resource is the manifest of a title, every resource that the chosen renditions need is fetched with it,
    /// several at a time; see ``DownloadOptions/selection``. If an origin refuses a part, the others are still fetched,
    /// but the title stays incomplete, and the error names the first part that was refused. A live title is rejected,
    /// because it has no end.
    ///
    /// The download continues where an earlier one stopped, and ends when everything is held. Its progress is reported
    /// at most ten times a second. Eviction removes resources that were merely played before it removes downloads. A
    /// player that waits for bytes takes precedence over the download.
    ///
    /// - Returns: the progress. Iterating throws ``VaultError`` if the download cannot continue.
    public func download(
        _ reference: MediaReference, options: DownloadOptions = DownloadOptions()
    ) -> ProgressSequence<DownloadProgress> {
        ProgressSequence(among: nil) { [loaders, feedPictures] tell in
            try await TitleJob(loaders, feedPictures, reference, options, tell: tell).run()
        }
    }

    /// Downloads as ``download(_:options:)-(MediaReference,_)`` does, for the resource with this URL.
    public func download(
        _ url: MediaURL, options: DownloadOptions = DownloadOptions()
    ) -> ProgressSequence<DownloadProgress> {
        download(MediaReference(url), options: options)
    }

    /// Writes a resource's plaintext to a file, either completely or not at all.
    ///
    /// A title of several resources becomes a folder that plays without the vault. Its manifest, `index.m3u8` or
    /// `manifest.mpd`, names files in the same folder. File names are numbers; nothing in a manifest becomes a path. An
    /// existing folder is never replaced.
    ///
    /// Only bytes that the index lists as held are written. No origin is contacted, and this process need not be the
    /// owner. Only the file's owner can read the file (mode 0600; a folder has mode 0700). It appears under its final
    /// name only when it is complete and durable. A cancelled export leaves nothing behind.
    ///
    /// - Parameters:
    ///   - reference: the resource to export.
    ///   - path: the absolute path of the file or folder to create.
    ///   - replacing: whether to replace an existing file at this path.
    ///   - progress: called at most ten times a second, and at the end.
    /// - Throws: ``VaultError`` with code `notHeld` and `firstMissing` if bytes are missing; `integrity` if some are
    ///   damaged; `invalidArgument` if the file exists; `diskFull` or `storage` if the file cannot be written.
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
    /// A reader of the vault can verify, but only the owner can repair. A repair invalidates damaged ranges, and
    /// fetches only these again, of the same representation. Files that are not in the index are adopted, or moved to
    /// `quarantine/`. Playback continues meanwhile.
    ///
    /// - Parameters:
    ///   - options: how much to check, how fast, and whether to repair damage.
    ///   - references: the resources to check, where a title includes all its parts; empty to check everything.
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
