import VaultCache
import VaultManifest
import VaultModel
import VaultStorage

// Converts a download's reference and options to the record in the queue, and back.
extension DownloadOrder {
    /// Creates the record of a download.
    ///
    /// - Parameters:
    ///   - reference: a settled reference.
    ///   - isByID: whether to request the title by the id of its stored counterpart.
    init(_ reference: MediaReference, _ options: DownloadOptions, isByID: Bool) {
        self.init(url: reference.url.absoluteString)
        contentID = reference.contentID
        fields = OriginFields(reference.fields, for: reference.url)
        isDerived = reference.isDerived
        self.isByID = isByID
        connections = options.connections.map { Int64($0) }
        rate = options.bytesPerSecond
        (video, audio) = (options.selection?.video.rawValue, options.selection?.audio.rawValue)
        subtitles = options.selection?.subtitles.rawValue
        name = options.name
        (requiresMedia, published) = (options.requiresMedia, options.published)
        picture = options.picture.map {
            ListedPicture(
                url: $0.url.absoluteString, fields: OriginFields($0.fields, for: $0.url), isDerived: $0.isDerived)
        }
    }

    /// The options of the download, with the default for each choice that this version does not recognize.
    var options: DownloadOptions {
        let usual = RenditionSelection()
        var selection: RenditionSelection?
        if video != nil || audio != nil || subtitles != nil {
            selection = RenditionSelection(
                video: video.flatMap { RenditionSelection.Video(rawValue: $0) } ?? usual.video,
                audio: audio.flatMap { RenditionSelection.Audio(rawValue: $0) } ?? usual.audio,
                subtitles: subtitles.flatMap { RenditionSelection.Subtitles(rawValue: $0) } ?? usual.subtitles)
        }
        var options = DownloadOptions(
            connections: connections.map { Int(clamping: $0) }, bytesPerSecond: rate, selection: selection, name: name)
        (options.requiresMedia, options.published) = (requiresMedia, published)
        options.picture = picture.flatMap(MediaReference.init)
        return options
    }

    /// Returns the reference made from the recorded URL. Its header fields are sent only to their own origin.
    ///
    /// - Throws: ``VaultError`` with code `invalidURL` if the recorded URL is invalid.
    func reference() throws -> MediaReference {
        let url = try MediaURL(url)
        var reference = MediaReference(url, contentID: contentID, fields: fields?.sent(to: url) ?? HeaderFields())
        reference.isDerived = isDerived
        return reference
    }

    /// Returns the stored reference if the title was queued by its id and is still in the vault, otherwise the plain
    /// one. Blocks.
    ///
    /// - Throws: the errors of ``reference()``.
    func reference(to title: TitleID, in names: ResourceNames) throws -> MediaReference {
        let plain = try reference()
        guard isByID else { return plain }
        do {
            var stored = try names.reference(storedAs: title)
            if !plain.fields.fields.isEmpty { stored.fields = plain.fields }
            return stored
        } catch let error as VaultError where error.code == .notHeld {
            return plain
        }
    }
}

extension MediaReference {
    /// Creates a reference to a picture; nil if its URL is invalid.
    fileprivate init?(_ picture: ListedPicture) {
        guard let url = try? MediaURL(picture.url) else { return nil }
        self.init(url, fields: picture.fields?.sent(to: url) ?? HeaderFields())
        isDerived = picture.isDerived
    }
}
