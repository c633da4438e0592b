import VaultCache
import VaultCrypto
import VaultModel
import VaultStorage

// Subtitles that were added to titles. Those of a language are a part of the title with rows of its own, so that they are
// resealed, backed up, evicted, removed and destroyed as any other part.
extension Titles {
    /// The maximum size of a file with subtitles, in bytes.
    public static let maxSubtitleBytes = SubtitleText.maxBytes
    /// The maximum number of languages in which a title has added subtitles.
    private static let maxLanguages = 32

    /// Adds subtitles to a title, in place of those that were added in the same language.
    ///
    /// They are kept as WebVTT, sealed like everything else about the title, and go with it.
    ///
    /// - Parameters:
    ///   - file: the bytes of a file in SubRip or WebVTT, at most ``maxSubtitleBytes``, in UTF-8.
    ///   - language: their language, as an RFC 5646 tag.
    ///   - reference: the title.
    /// - Throws: ``VaultError`` with code `invalidArgument` if the file or the language cannot be used, or if the title
    ///   has subtitles in 32 other languages; `notHeld` if the vault does not know the title; `owned` if this process is
    ///   not the owner; `quotaExceeded`, `diskFull` or `storage` if they cannot be written.
    public func addSubtitles(_ file: [UInt8], in language: String, of reference: MediaReference) async throws {
        try store.requireOwner(to: "changes subtitles")
        guard LanguageList.isTag(language) else {
            throw VaultError(.invalidArgument, "the language of the subtitles must be a tag such as de or en-GB")
        }
        try await changeSubtitles(of: reference, in: language, to: try SubtitleText.webVTT(file))
    }

    /// Removes the subtitles that were added to a title in a language.
    ///
    /// - Throws: ``VaultError`` with code `notHeld` if there are none; `owned` if this process is not the owner.
    public func removeSubtitles(in language: String, of reference: MediaReference) async throws {
        try store.requireOwner(to: "changes subtitles")
        try await changeSubtitles(of: reference, in: language, to: nil)
    }

    /// Returns the subtitles that were added to a title in a language, as WebVTT; nil if there are none.
    ///
    /// - Throws: ``VaultError`` with code `notHeld` or `integrity` if a byte of them is missing or damaged.
    public func subtitles(in language: String, of reference: MediaReference) async throws -> [UInt8]? {
        let (store, title) = (store, try await loaders.name(reference))
        return try await pool.run {
            guard let key = try store.index.resources.find(title.id)?.metadata.subtitles[language],
                let id = store.keyring.resourceID(cacheKey: key, locator: store.index.locator)
            else { return nil }
            var (source, bytes) = (try ExportSource(store, id, reference.url), [UInt8]())
            while bytes.count < min(source.length, Int64(SubtitleText.maxBytes)) {
                bytes += try source.bytes(at: Int64(bytes.count), of: store)
            }
            return bytes
        }
    }

    private func changeSubtitles(of reference: MediaReference, in language: String, to text: [UInt8]?) async throws {
        let title = try await loaders.name(reference)
        try await loaders.requireOwnRows(of: title)
        let (loader, lease) = try loaders.use(title)
        defer { withExtendedLifetime(lease) {} }
        try await loader.ready()
        let record = loader.record
        try await pool.run { [self] in
            guard let known = try store.index.resources.find(title.id)?.metadata.subtitles else {
                throw reference.notHeld
            }
            guard text != nil || known[language] != nil else {
                throw VaultError(.notHeld, "\(reference) has no added subtitles in \(language)")
            }
            guard known[language] != nil || known.count < Self.maxLanguages else {
                throw VaultError(
                    .invalidArgument, "a title has added subtitles in at most \(Self.maxLanguages) languages")
            }
            // A removal that fails can be repeated, because the title still names what is to be removed.
            if text == nil, let former = known[language] { try remove(former) }
            let added = try text.map { try keep($0, of: title) }
            var former: [UInt8]?
            do {
                try record.changeTitles { metadata in
                    former = metadata.subtitles.removeValue(forKey: language)
                    if let added { metadata.subtitles[language] = added }
                }
            } catch {
                // Nothing names the new part yet.
                if let added { try? remove(added) }
                throw error
            }
            if text != nil, let former { try remove(former) }
        }
    }

    /// Stores subtitles as a part of a title. Blocks.
    ///
    /// - Returns: the cache key of the part.
    private func keep(_ text: [UInt8], of title: NamedResource) throws -> [UInt8] {
        let key = ResourceMetadata.subtitlesKey(try SecureRandom.bytes(16, "subtitles"))
        guard let id = store.keyring.resourceID(cacheKey: key, locator: store.index.locator),
            let owner = try store.index.resources.find(title.id)
        else { throw title.reference.notHeld }
        var part = ResourceMetadata(url: owner.metadata.url, cacheKey: key, created: store.index.now())
        part.partOf = [title.key.bytes]
        // The bytes are at no origin: what is at the URL is the title.
        part.mode = .offline
        let information = ContentInformation(
            length: Int64(text.count), type: "text/vtt", validators: Validators(), supportsRanges: true)
        let imports = loaders.environment.imports
        let writer = ImportWriter(length: Int64(text.count), in: store)
        try imports.begin(id, writer, at: title.reference.url)
        defer { imports.forget(id, writer) }
        do {
            try writer.begin { [part] in
                try store.imports.begin(
                    id, part, as: owner.resourceClass == .pinned ? .pinned : .download, information)
            }
            _ = try writer.append(text)
            _ = try writer.close()
            _ = try writer.finish(information, nil) { _ in }
        } catch {
            writer.discard()
            throw error
        }
        return key
    }

    /// Removes a part that has subtitles. Blocks.
    private func remove(_ key: [UInt8]) throws {
        guard let id = store.keyring.resourceID(cacheKey: key, locator: store.index.locator) else { return }
        loaders.detach(id)
        _ = try store.resources.remove(id)
    }
}
