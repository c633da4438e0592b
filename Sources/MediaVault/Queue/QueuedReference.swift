import VaultManifest
import VaultModel
import VaultStorage

// The record of an entry of the download queue, and the reference and options that it was made from.
extension DownloadOrder {
    /// Creates the record.
    ///
    /// - Parameters:
    ///   - reference: a settled reference.
    ///   - isByID: whether to fetch its title by the id of the stored one.
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
        requiresMedia = options.requiresMedia
        picture = options.picture.map {
            ListedPicture(
                url: $0.url.absoluteString, fields: OriginFields($0.fields, for: $0.url), isDerived: $0.isDerived)
        }
    }

    /// The options of the download, with the default for each choice that this version does not know.
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
        options.requiresMedia = requiresMedia
        options.picture = picture.flatMap(MediaReference.init)
        return options
    }

    /// Returns the reference by its URL. Its fields are sent to their own origin only.
    ///
    /// - Throws: ``VaultError`` with code `invalidURL`.
    func reference() throws -> MediaReference {
        let url = try MediaURL(url)
        var reference = MediaReference(url, contentID: contentID, fields: fields?.sent(to: url) ?? HeaderFields())
        reference.isDerived = isDerived
        return reference
    }

    /// Returns the stored reference if the title was queued by its id and is still there, else the plain one. Blocks.
    ///
    /// - Throws: as ``reference()``.
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
    /// Creates the reference of a picture; nil if its URL is invalid.
    fileprivate init?(_ picture: ListedPicture) {
        guard let url = try? MediaURL(picture.url) else { return nil }
        self.init(url, fields: picture.fields?.sent(to: url) ?? HeaderFields())
        isDerived = picture.isDerived
    }
}
