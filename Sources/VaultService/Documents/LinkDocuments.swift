package import MediaVault

/// Named links as `GET /api/v1/links` and `links list --json` report them.
package struct NamedLinkDocument: Codable, Hashable, Sendable {
    package let id: String
    package let name: String
    /// The URL of the first resource.
    package let url: String
    /// The number of links with this name.
    package let count: Int
    /// The titles that the links lead to: the first thousand, or none if an earlier version created the links.
    package let titles: [TitleID]
    package let created: Timestamp
    /// When the links expire; null if they never do.
    @OrNull package var expires: Timestamp?
    /// The day, in UTC, on which one of the links was last used; null if none ever was.
    @OrNull package var lastUsed: String?

    /// Returns nil if the grant is not for named links.
    init?(_ grant: AccessGrant) {
        guard case .links(let resources) = grant.kind else { return nil }
        (id, name, url, count) = (grant.shortID, grant.name ?? "", resources.url, resources.count)
        titles = resources.titles
        created = Timestamp(seconds: grant.created)
        expires = grant.expires.map { Timestamp(seconds: $0) }
        lastUsed = grant.lastUsed.map(DayText.text)
    }

    /// Returns whether one of the links is known to lead to a title.
    package func lead(to title: TitleID?, at url: String) -> Bool { resources.lead(to: title, at: url) }

    /// Returns whether one of the links may lead to a title although the record, which does not list all titles of the
    /// links, does not name it.
    package func mayLead(to title: TitleID?, at url: String) -> Bool {
        resources.leaveOutTitles && !lead(to: title, at: url)
    }

    private var resources: AccessGrant.LinkedResources { .init(url: url, count: count, titles: titles) }
}

/// The named links of a vault.
package struct NamedLinksDocument: Codable, Sendable {
    package let links: [NamedLinkDocument]
    /// The number of unreadable records of tokens, named links and sessions. Such a record grants no access.
    package let damaged: Int
}

/// Newly created playback links.
package struct LinkDocument: Codable, Hashable, Sendable {
    /// The path and query of the first link, to append to the service's own address.
    package let path: String
    /// The path and query of each link, in the order of the resources.
    package let paths: [String]
    /// When the links expire; null if they never do.
    @OrNull package var expires: Timestamp?
    /// The id of the links if they are named.
    @OrNull package var id: String?
    @OrNull package var name: String?

    package init(paths: [String], expires: Int64?, _ grant: AccessGrant? = nil) {
        (path, self.paths) = (paths.first ?? "", paths)
        self.expires = expires.map { Timestamp(seconds: $0) }
        (id, name) = (grant?.shortID, grant?.name)
    }
}

/// The body of `POST /api/v1/links`.
///
/// The body names either one resource, at its top level, or several in `resources`. Each resource gets a link.
struct LinkOrder: Codable, Sendable {
    private let reference: ReferenceDocument
    private let resources: [ReferenceDocument]?
    let details: LinkDetails

    private enum CodingKeys: CodingKey { case resources }

    /// The maximum number of resources per request.
    private static let maxCount = 10_000

    init(_ references: [MediaReference], _ details: LinkDetails) {
        reference = ReferenceDocument(url: nil)
        resources = references.map { ReferenceDocument($0) }
        self.details = details
    }

    init(from decoder: any Decoder) throws {
        reference = try ReferenceDocument(from: decoder)
        details = try LinkDetails(from: decoder)
        resources = try decoder.container(keyedBy: CodingKeys.self).decodeIfPresent(
            [ReferenceDocument].self, forKey: .resources)
    }

    func encode(to encoder: any Encoder) throws {
        try reference.encode(to: encoder)
        try details.encode(to: encoder)
        var members = encoder.container(keyedBy: CodingKeys.self)
        try members.encodeIfPresent(resources, forKey: .resources)
    }

    /// The references to the resources.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` if the request names resources in both ways, or names none
    ///   or too many in `resources`.
    var documents: [ReferenceDocument] {
        get throws {
            guard let resources else { return [reference] }
            guard reference.id == nil, reference.url == nil, reference.contentID == nil, reference.fields == nil else {
                throw VaultError(
                    .invalidArgument, "the request has both a resource and resources; give one of them")
            }
            guard (1...Self.maxCount).contains(resources.count) else {
                throw VaultError(.invalidArgument, "resources must name 1 to \(Self.maxCount) resources")
            }
            return resources
        }
    }
}

/// The name of playback links, and how long they stay valid.
package struct LinkDetails: Codable, Sendable {
    /// The name of the links; nil for links without a name, which cannot be revoked one by one.
    let name: String?
    /// How long the links are valid, in seconds from now; one day if omitted. 0 means that they never expire, and
    /// requires a name.
    let lifetime: Int64?
    /// When the links expire; the alternative to ``lifetime``.
    let expires: Timestamp?

    package init(name: String?, _ expiry: GrantExpiry) {
        self.name = name
        (lifetime, expires) = expiry.members
    }
}
