package import MediaVault

extension Operations {
    /// Operations on one title or other resource.
    package enum Titles {
        static let all: [any AnyOperation] = [
            pin, unpin, rename, unname, setModeByID, unsetMode, setMode, removeByID, remove, removeCover,
            addSubtitles, removeSubtitles, changeDownloads, chapters,
        ]

        /// Returns the chapters that the held media of a title state.
        static let chapters = Operation<TitleDocument, ChaptersDocument>(
            .get, "resources/{id}/chapters", scope: .read, isForViewers: true
        ) { title, vault, caller in
            if let viewer = caller.viewer {
                _ = try await SharedTitles(vault: vault, viewer: viewer).title(title.id)
            }
            return ChaptersDocument(
                chapters: try await vault.titles.chapters(of: vault.titles.reference(of: title.id)))
        }

        /// Sets the mode of a resource, or makes it follow the vault's mode. A reference identifies the resource,
        /// because the vault need not know it yet.
        package static let setMode = Operation<ModeRequest, EmptyDocument>(.post, "modes", scope: .admin) {
            order, vault, _ in
            let mode = try NamedMode(order.details.mode).mode
            try await vault.titles.setMode(mode, for: order.reference.reference(in: vault))
            return EmptyDocument()
        }

        /// Removes a resource and everything that the vault knows about it. A reference also identifies resources
        /// without an id: one that is only queued or being imported, one whose row is damaged, and a file in a pack.
        package static let remove = Operation<RemovalRequest, RemovalDocument>(.post, "removals", scope: .admin) {
            order, vault, _ in
            try await remove(
                order.reference.reference(in: vault), from: vault, withLinks: order.details.links ?? false)
        }

        /// Removes a resource.
        ///
        /// - Parameter withLinks: whether to revoke the named links to the resource once it is removed.
        static func remove(
            _ reference: MediaReference, from vault: Vault, withLinks: Bool
        ) async throws -> RemovalDocument {
            // The links are looked up before the removal, because the vault can look up a title's id only while it has
            // the title.
            let named = withLinks ? try await vault.access.namedLinks(to: reference) : []
            let bytes = try await vault.titles.remove(reference)
            try await RemovedLinks.revoke(named, in: vault)
            return RemovalDocument(bytes: bytes, isErased: try await !vault.titles.hasPendingErasure())
        }

        /// Pins a title, so that no limit evicts it.
        package static let pin = Operation<TitleDocument, EmptyDocument>(.put, "resources/{id}/pin", scope: .admin) {
            title, vault, _ in
            try await vault.titles.pin(vault.titles.reference(of: title.id))
            return EmptyDocument()
        }

        /// Unpins a title.
        package static let unpin = Operation<TitleDocument, EmptyDocument>(
            .delete, "resources/{id}/pin", scope: .admin
        ) { title, vault, _ in
            try await vault.titles.unpin(vault.titles.reference(of: title.id))
            return EmptyDocument()
        }

        static let setModeByID = Operation<TitleRequest<ModeDetails>, EmptyDocument>(
            .put, "resources/{id}/mode", scope: .admin
        ) { order, vault, _ in
            let mode = try NamedMode(order.details.mode).mode
            try await vault.titles.setMode(mode, for: vault.titles.reference(of: order.id))
            return EmptyDocument()
        }

        static let unsetMode = Operation<TitleDocument, EmptyDocument>(
            .delete, "resources/{id}/mode", scope: .admin
        ) { title, vault, _ in
            try await vault.titles.setMode(nil, for: vault.titles.reference(of: title.id))
            return EmptyDocument()
        }

        /// Sets a title's display name. An empty name removes the current one.
        package static let rename = Operation<TitleRequest<NameDetails>, EmptyDocument>(
            .put, "resources/{id}/name", scope: .admin
        ) { order, vault, _ in
            try await vault.titles.setName(order.details.name, of: vault.titles.reference(of: order.id))
            return EmptyDocument()
        }

        static let unname = Operation<TitleDocument, EmptyDocument>(
            .delete, "resources/{id}/name", scope: .admin
        ) { title, vault, _ in
            try await vault.titles.setName("", of: vault.titles.reference(of: title.id))
            return EmptyDocument()
        }

        static let removeByID = Operation<TitleRequest<RemovalDetails>, RemovalDocument>(
            .delete, "resources/{id}", scope: .admin
        ) { order, vault, _ in
            try await remove(
                vault.titles.reference(of: order.id), from: vault, withLinks: order.details.links ?? false)
        }

        /// Removes the picture that was set for a title.
        static let removeCover = Operation<TitleDocument, EmptyDocument>(
            .delete, "resources/{id}/cover", scope: .admin
        ) { title, vault, _ in
            try await vault.titles.setCover(nil, of: vault.titles.reference(of: title.id))
            return EmptyDocument()
        }

        /// Adds subtitles to a title.
        package static let addSubtitles = Operation<TitleRequest<SubtitleDetails>, EmptyDocument>(
            .put, "resources/{id}/subtitles", scope: .admin, maxBytes: SubtitleDetails.maxBodyBytes
        ) { order, vault, _ in
            let (details, title) = (order.details, try await vault.titles.reference(of: order.id))
            try await vault.titles.addSubtitles(Array(details.text.utf8), in: details.language, of: title)
            return EmptyDocument()
        }

        /// Removes subtitles that were added to a title.
        package static let removeSubtitles = Operation<TitleRequest<SubtitleSelection>, EmptyDocument>(
            .delete, "resources/{id}/subtitles", scope: .admin
        ) { order, vault, _ in
            let language = try order.details.named
            try await vault.titles.removeSubtitles(in: language, of: vault.titles.reference(of: order.id))
            return EmptyDocument()
        }

        /// Performs an action on entries of the download queue.
        package static let changeDownloads = Operation<DownloadChange, DownloadChangeDocument>(
            .patch, "downloads", scope: .admin
        ) { change, vault, _ in
            DownloadChangeDocument(changed: try await vault.queue.change(change.act, of: change.selection))
        }
    }
}

/// Subtitles to add to a title: the text of a file in SubRip or WebVTT.
package struct SubtitleDetails: Codable, Sendable {
    let language: String
    let text: String

    package init(language: String, text: String) { (self.language, self.text) = (language, text) }

    /// The maximum length of the body in bytes. It suffices for the largest file, even if many characters are escaped.
    static let maxBodyBytes = 4 << 20
}

/// The language of subtitles that were added to a title, in a query.
package struct SubtitleSelection: Codable, Sendable {
    let language: String?

    package init(language: String?) { self.language = language }

    /// - Throws: ``VaultError`` with code `invalidArgument` if the query names no language.
    var named: String {
        get throws {
            guard let language else { throw VaultError(.invalidArgument, "the query must have a language") }
            return language
        }
    }
}

/// The chapters of a title.
struct ChaptersDocument: Codable, Sendable {
    let chapters: [MediaChapter]
}

/// A title that a path names.
package struct TitleDocument: Codable, Sendable {
    let id: TitleID

    package init(_ id: TitleID) { self.id = id }
}

/// A request about a title that a path names.
package struct TitleRequest<Details: Codable & Sendable>: Codable, Sendable {
    let id: TitleID
    let details: Details

    package init(_ id: TitleID, _ details: Details) { (self.id, self.details) = (id, details) }

    private enum CodingKeys: CodingKey { case id }

    // The id is at the same level as the members of the details.
    package init(from decoder: any Decoder) throws {
        // A missing id ends the decoding, so the other members are looked for first.
        details = try Details(from: decoder)
        id = try decoder.container(keyedBy: CodingKeys.self).decode(TitleID.self, forKey: .id)
    }

    package func encode(to encoder: any Encoder) throws {
        try details.encode(to: encoder)
        var members = encoder.container(keyedBy: CodingKeys.self)
        try members.encode(id, forKey: .id)
    }
}
