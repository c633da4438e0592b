import VaultCache
import VaultModel

/// Imports files into a vault as titles, and exports titles to files.
public struct FileTransfer: Sendable {
    let titles: Titles
    let backgroundTasks: BackgroundTasks

    private var loaders: LoaderTable { titles.loaders }

    /// Stores a file as if it had been downloaded from a URL: either all of it or nothing.
    ///
    /// The file's bytes are sealed, and the file itself is not changed. If the origin can be reached, the length that
    /// it states and samples of its bytes are compared with the file, and the title becomes a copy of the origin's
    /// version. If the origin cannot be reached, or must not be contacted, the title plays as it was imported. Once the
    /// origin is reached, the title is compared, and replaced by the origin's version if they differ. Bytes of both
    /// versions are never mixed. A manifest is refused.
    ///
    /// Until the whole file is stored, none of it can be listed or read, players get the origin's bytes, unstored, and
    /// a download of the resource fails with `inUse`. The import ends if the resource is removed, the locator is
    /// changed, or the vault is closed.
    ///
    /// - Parameters:
    ///   - path: the absolute path of a regular file, which must not change during the import.
    ///   - reference: the name of the title, and its URL at the origin.
    ///   - options: the title's name, its type, whether to pin it, and whether to contact the origin.
    /// - Returns: the progress, reported at most ten times a second; the last element has the report. Iterating throws
    ///   ``VaultError`` with code `inUse` if the vault holds bytes of the resource, if the resource is being fetched or
    ///   imported, or if the origin has another version; `refused` if the origin refuses the request; `storage` if the
    ///   file changes or cannot be read; `invalidArgument` if it is not a regular file, is empty, or is a manifest;
    ///   `quotaExceeded` or `diskFull` if there is no room; `removed` or `closed` if the import was ended; `owned` if
    ///   this process is not the owner.
    public func importFile(
        at path: String, as reference: MediaReference, options: ImportOptions = ImportOptions()
    ) -> ProgressSequence<ImportProgress> {
        ProgressSequence(among: backgroundTasks) { [loaders] tell in
            let job = ImportJob(loaders, reference, options, tell: tell)
            let report = try await job.run(ImportedFile.open(at: path))
            tell(ImportProgress(stored: report.bytes, total: report.bytes, report: report))
        }
    }

    /// Imports a file as ``importFile(at:as:options:)-(_,MediaReference,_)`` does, for the resource with this URL.
    public func importFile(
        at path: String, as url: MediaURL, options: ImportOptions = ImportOptions()
    ) -> ProgressSequence<ImportProgress> {
        importFile(at: path, as: MediaReference(url), options: options)
    }

    /// Imports the bytes that a source provides.
    package func importFile(
        _ source: any ImportSource, as reference: MediaReference, options: ImportOptions,
        progress: @escaping @Sendable (ImportProgress) -> Void
    ) async throws -> ImportReport {
        try await ImportJob(loaders, reference, options, tell: progress).run(source)
    }

    /// Exports as ``export(_:to:replacing:progress:)-(MediaReference,_,_,_)`` does, for the resource with this URL.
    public func export(_ url: MediaURL, to path: String, replacing: Bool = false) async throws {
        try await export(MediaReference(url), to: path, replacing: replacing)
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
        if try await titles.summary(of: reference)?.title != nil {
            try await TitleExport(loaders: loaders, title: try await loaders.name(reference), path: path)
                .run(progress: progress)
        } else {
            try await ExportJob(loaders: loaders, reference: reference, path: path, replacing: replacing)
                .run(progress: progress)
        }
    }
}
