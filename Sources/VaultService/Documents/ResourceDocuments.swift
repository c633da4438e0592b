import Foundation
package import MediaVault

/// A resource as `/api/v1/resources` and `list --json` report it.
package struct ListedDocument: Codable, Sendable {
    @OrNull package var id: TitleID?
    package private(set) var url: String
    @OrNull package var contentID: String?
    package let added: Timestamp
    package private(set) var accessed: Timestamp
    /// When the age limit evicts the title; null if it never does.
    @OrNull package var expires: Timestamp?
    @OrNull package var size: Int64?
    package let bytes: Int64
    package private(set) var `class`: String
    @OrNull package var type: String?
    package let complete: Bool
    @OrNull package var name: String?
    /// A name made from the file's name; null if the title has a name, or if the file's says nothing to people.
    @OrNull package var fallbackName: String?
    /// What the media or the file's name state about the album or series; null if neither states anything.
    @OrNull package var tags: TitleTags?
    /// The name of the collection into which the owner moved the title; null if it was not moved.
    @OrNull package var collection: String?
    /// The playing time in milliseconds.
    @OrNull package var duration: Int64?
    /// A value that changes whenever the cover changes; null if no cover is known.
    @OrNull package var cover: String?
    /// The title, if the resource is its manifest. The size and bytes are then those of the whole title.
    @OrNull package var title: Title?

    package init(_ summary: ResourceSummary) {
        id = summary.id
        url = summary.url
        contentID = summary.contentID
        (added, accessed, expires) = (summary.added, summary.accessed, summary.expires)
        size = summary.wholeSize
        bytes = summary.wholeBytes
        `class` = summary.resourceClass
        type = summary.type
        complete = summary.isWhole
        (name, fallbackName, tags) = (summary.name, summary.fallbackName, summary.tags)
        collection = summary.collection
        duration = summary.duration
        cover = summary.cover
        title = summary.title
    }

    /// A copy that does not reveal where the resource came from.
    var withoutOrigin: ListedDocument {
        var document = self
        (document.url, document.contentID) = ("", nil)
        // These members would reveal when others played the title, and how the owner keeps it.
        (document.accessed, document.class, document.expires) = (document.added, "download", nil)
        return document
    }
}

extension ResourceSummary {
    /// The size of the resource, or of the whole title if the resource is a manifest; nil if it is unknown, or if the
    /// title was never complete.
    package var wholeSize: Int64? {
        guard isManifest else { return size }
        return title?.size
    }
}

/// One page of resources, as `/api/v1/resources` returns it.
package struct PageDocument: Codable, Sendable {
    package let resources: [ListedDocument]
    /// The number of resources omitted from the page because their rows fail authentication.
    package let damaged: Int
    /// The value of `after` for the next page; `null` on the last page.
    @OrNull package var next: String?
}

/// The sources of a resource's bytes, as `/api/v1/explanation` and `explain --json` report them.
package struct ExplanationDocument: Codable, Sendable {
    /// Consecutive bytes from the same source.
    package struct Run: Codable, Hashable, Sendable {
        package let first: Int64
        /// One past the last byte.
        package let end: Int64
        package let source: ByteTrace.Source
    }

    /// One answer that carried media.
    package struct Entry: Codable, Hashable, Sendable {
        /// When the answer ended; omitted while it is in progress.
        private let endTime: Timestamp?
        package let bytes: Int64
        package let runs: [Run]
        /// The number of bytes in the runs that ``runs`` omits.
        package let omitted: Int64

        /// When the answer ended, in seconds since 1970; nil while it is in progress.
        package var ended: Int64? { endTime?.seconds }

        fileprivate init(_ answer: AnswerTrace) {
            endTime = answer.ended.map { Timestamp(seconds: $0) }
            bytes = answer.trace.bytes
            runs = answer.trace.runs.map {
                Run(first: $0.range.lowerBound, end: $0.range.upperBound, source: $0.source)
            }
            omitted = answer.trace.omitted
        }

        private enum CodingKeys: String, CodingKey {
            case bytes, runs, omitted
            case endTime = "ended"
        }
    }

    package let url: String
    @OrNull package var size: Int64?
    /// The ranges that the vault holds now.
    package let held: [ByteRange]
    /// The most recent answers: first those in progress, then those that have ended, latest first.
    package let answers: [Entry]

    package init(_ summary: ResourceSummary?, url: String, answers: [AnswerTrace]) {
        self.url = summary?.url ?? url
        size = summary?.size
        held = summary?.held ?? []
        self.answers = answers.map { Entry($0) }
    }
}

/// A reference to a resource, as it appears in requests.
package struct ReferenceDocument: Codable, Hashable, Sendable {
    /// The id of a resource that is in the vault; the alternative is ``url``.
    let id: TitleID?
    /// The URL with its query, and its credentials if it has any.
    let url: String?
    /// The caller's own name for the resource.
    let contentID: String?
    /// Header fields for requests to the origin, each as a name and a value.
    ///
    /// The fields may be secret, so clients send them in bodies, never in a query.
    let fields: [[String]]?

    init(id: TitleID? = nil, url: String?, contentID: String? = nil, fields: [[String]]? = nil) {
        self.id = id
        self.url = url
        self.contentID = contentID
        self.fields = fields
    }

    /// Creates the document for a reference. ``reference(in:)`` recreates the reference from it.
    package init(_ reference: MediaReference) {
        let fields = reference.fields.fields.isEmpty ? nil : reference.fields.fields.map { [$0.name, $0.value] }
        if let id = reference.titleID {
            self.init(id: id, url: nil, fields: fields)
            return
        }
        let url = reference.url
        let credentials = url.userInfo.map { Self.escaped($0) + "@" } ?? ""
        self.init(
            url: url.absoluteString.replacing("://", with: "://" + credentials, maxReplacements: 1),
            contentID: reference.contentID, fields: fields)
    }

    /// Returns the reference as the library's type.
    ///
    /// - Parameter stored: the references of titles that were looked up already.
    /// - Throws: ``VaultError`` with code `invalidURL` or `invalidArgument` if the document is invalid, or `notHeld` if
    ///   the vault has no resource with the id, or it has another content id.
    func reference(
        in vault: Vault, _ stored: [TitleID: MediaReference] = [:]
    ) async throws -> MediaReference {
        var given = HeaderFields()
        for field in fields ?? [] {
            guard field.count == 2 else {
                throw VaultError(.invalidArgument, "each request field must be a name and a value")
            }
            given.append(name: field[0], value: field[1])
        }
        let reference: MediaReference
        switch (id, url) {
        case (nil, let url?): reference = MediaReference(try MediaURL(url), contentID: contentID, fields: given)
        case (let id?, nil):
            let known = given.fields.isEmpty ? stored[id] : nil
            reference = if let known { known } else { try await vault.titles.reference(of: id, fields: given) }
            guard contentID == nil || contentID == reference.contentID else {
                throw VaultError(.notHeld, "the resource with the id \(id) has another contentID; leave it out")
            }
        case (nil, nil): throw VaultError(.invalidArgument, "the request has neither id nor url; add one of them")
        case (_?, _?): throw VaultError(.invalidArgument, "the request has both id and url; leave out one of them")
        }
        // An unusable reference is refused here, before an answer begins.
        _ = try reference.settled()
        return reference
    }

    private static func escaped(_ userInfo: String) -> String {
        // In `user:password`, only the first colon separates the two.
        userInfo.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            .map { $0.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "" }.joined(separator: ":")
    }
}

extension [ReferenceDocument] {
    /// - Throws: as ``ReferenceDocument/reference(in:)``.
    func references(in vault: Vault) async throws -> [MediaReference] {
        let stored = try await vault.titles.references(of: compactMap { $0.fields == nil ? $0.id : nil })
        var references: [MediaReference] = []
        for document in self { references.append(try await document.reference(in: vault, stored)) }
        return references
    }
}

/// A request about one resource.
package struct ResourceRequest<Details: Codable & Sendable>: Codable, Sendable {
    let reference: ReferenceDocument
    let details: Details

    package init(_ reference: MediaReference, _ details: Details) {
        self.reference = ReferenceDocument(reference)
        self.details = details
    }

    // The reference's members are at the same level as those of the details.
    package init(from decoder: any Decoder) throws {
        reference = try ReferenceDocument(from: decoder)
        details = try Details(from: decoder)
    }

    package func encode(to encoder: any Encoder) throws {
        try reference.encode(to: encoder)
        try details.encode(to: encoder)
    }
}

/// The body of `POST /api/v1/removals`.
package typealias RemovalRequest = ResourceRequest<RemovalDetails>

/// The options for removing a resource.
package struct RemovalDetails: Codable, Sendable {
    /// Whether to revoke the named links to the resource as well; false if omitted.
    let links: Bool?

    package init(links: Bool?) { self.links = links }
}

/// A new name for a resource.
package struct NameDetails: Codable, Sendable {
    /// The name; empty to remove the current one.
    let name: String

    package init(name: String) { self.name = name }
}

/// The content of the event `resource`: the current state of a resource that has changed.
package struct ChangeDocument: Codable, Sendable {
    package let id: TitleID
    package let resource: ResourceSummary
}

/// The content of the event `removed`: the id of a resource that no longer exists.
package struct RemovedDocument: Codable, Hashable, Sendable {
    package let id: TitleID
}

/// The result of removing a resource.
package struct RemovalDocument: Codable, Hashable, Sendable {
    /// The number of bytes in the resource's removed files.
    package let bytes: Int64
    /// Whether the resource's key has already been erased; nil if the service does not report this.
    ///
    /// If false, the vault erases the key within a minute, or when it is closed.
    package var isErased: Bool?

    private enum CodingKeys: String, CodingKey {
        case bytes
        case isErased = "erased"
    }
}
