package import MediaVault

/// A download that the service runs, or has run lately.
package struct DownloadDocument: Codable, Sendable {
    package enum State: String, Codable, Sendable {
        case running, done, failed
        /// Somebody ended it; what was received is kept.
        case ended
    }

    /// Names it as long as the service runs.
    package let id: Int
    package let url: String
    package var state = State.running
    /// The bytes that are in the vault, or on their way into it.
    package var held: Int64 = 0
    package var size: OrNull<Int64> = OrNull(nil)
    /// Why it failed.
    package var problem: OrNull<ProblemDocument> = OrNull(nil)

    init(id: Int, url: String) {
        self.id = id
        self.url = url
    }
}

/// What is asked of `POST /api/v1/downloads`.
struct DownloadOrder: Codable, Sendable {
    let reference: ReferenceDocument
    let connections: Int?
    /// Bytes in a second.
    let limitRate: Int64?
    /// Whether the download goes on without whoever asked for it.
    let isDetached: Bool

    init(_ reference: MediaReference, _ options: DownloadOptions, isDetached: Bool) {
        self.reference = ReferenceDocument(reference)
        connections = options.connections
        limitRate = options.bytesPerSecond
        self.isDetached = isDetached
    }

    var options: DownloadOptions { DownloadOptions(connections: connections ?? 1, bytesPerSecond: limitRate) }

    private enum CodingKeys: String, CodingKey { case connections, limitRate, detached }

    // The members of the reference stand among the others.
    init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        reference = try ReferenceDocument(from: decoder)
        connections = try members.decodeIfPresent(Int.self, forKey: .connections)
        limitRate = try members.decodeIfPresent(Int64.self, forKey: .limitRate)
        isDetached = try members.decodeIfPresent(Bool.self, forKey: .detached) ?? false
    }

    func encode(to encoder: any Encoder) throws {
        try reference.encode(to: encoder)
        var members = encoder.container(keyedBy: CodingKeys.self)
        try members.encodeIfPresent(connections, forKey: .connections)
        try members.encodeIfPresent(limitRate, forKey: .limitRate)
        if isDetached { try members.encode(true, forKey: .detached) }
    }
}

/// The downloads that the service runs, and those that ended last, as `GET /api/v1/downloads` tells them.
package struct DownloadsDocument: Codable, Sendable {
    package let downloads: [DownloadDocument]
}

/// A download was begun that goes on without whoever asked for it.
package struct DownloadBegun: Codable, Hashable, Sendable {
    package let id: Int
}

/// How far a download is.
package struct ProgressDocument: Codable, Hashable, Sendable {
    /// The bytes that are in the vault, or on their way into it.
    package let held: Int64
    /// The length; left out while nobody knows.
    package let total: Int64?
    package let type: String?
    /// `hls` or `dash` where it is a list that names media.
    package let manifest: String?

    package init(_ progress: DownloadProgress) {
        held = progress.held
        total = progress.total
        type = progress.type
        manifest = progress.manifest?.rawValue
    }
}

/// Where a player finds a resource on the service, and until when.
package struct LinkDocument: Codable, Hashable, Sendable {
    /// Path and query: what stands before is the service's own address.
    package let path: String
    /// Seconds since 1970.
    package let expires: Int64
}

/// What is asked of `POST /api/v1/links`.
struct LinkOrder: Codable, Sendable {
    let reference: ReferenceDocument
    /// Seconds from now; a day where it is left out.
    let lifetime: Int64?

    private enum CodingKeys: String, CodingKey { case lifetime }

    // The members of the reference stand among the others.
    init(from decoder: any Decoder) throws {
        reference = try ReferenceDocument(from: decoder)
        lifetime = try decoder.container(keyedBy: CodingKeys.self).decodeIfPresent(Int64.self, forKey: .lifetime)
    }

    func encode(to encoder: any Encoder) throws {
        try reference.encode(to: encoder)
        var members = encoder.container(keyedBy: CodingKeys.self)
        try members.encodeIfPresent(lifetime, forKey: .lifetime)
    }
}
