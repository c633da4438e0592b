package import MediaVault

/// A download that the service runs, or ran recently.
package struct DownloadDocument: Codable, Sendable {
    package enum State: String, Codable, Sendable {
        case running, done, failed
        /// Ended early by a client or by the end of its request; received data is kept.
        case ended
    }

    /// Identifies the download while the service runs.
    package let id: Int
    package let url: String
    package var state = State.running
    /// The number of bytes in the vault or on their way into it.
    package var held: Int64 = 0
    @OrNull package var size: Int64? = nil
    /// The reason for a failure; null unless the download failed.
    @OrNull package var problem: ProblemDocument? = nil

    init(id: Int, url: String) {
        self.id = id
        self.url = url
    }
}

/// The body of `POST /api/v1/downloads`.
struct DownloadRequest: Codable, Sendable {
    let reference: ReferenceDocument
    let connections: Int?
    /// Bytes per second.
    let limitRate: Int64?
    /// Whether the download continues without the client that requested it.
    let isDetached: Bool

    init(_ reference: MediaReference, _ options: DownloadOptions, isDetached: Bool) {
        self.reference = ReferenceDocument(reference)
        connections = options.connections
        limitRate = options.bytesPerSecond
        self.isDetached = isDetached
    }

    var options: DownloadOptions { DownloadOptions(connections: connections ?? 1, bytesPerSecond: limitRate) }

    private enum CodingKeys: String, CodingKey { case connections, limitRate, detached }

    // The members of the reference are beside the others, not nested.
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

/// The running and most recently ended downloads, as `GET /api/v1/downloads` returns them.
package struct DownloadsDocument: Codable, Sendable {
    package let downloads: [DownloadDocument]
}

/// The answer to a request that started a detached download.
package struct DownloadStarted: Codable, Hashable, Sendable {
    package let id: Int
}

/// A playback link for a resource, and its expiry time.
package struct LinkDocument: Codable, Hashable, Sendable {
    /// Path and query, to be appended to the service's own address.
    package let path: String
    /// Seconds since 1970.
    package let expires: Int64
}

/// The body of `POST /api/v1/links`.
struct LinkRequest: Codable, Sendable {
    let reference: ReferenceDocument
    /// Seconds from now; one day if omitted.
    let lifetime: Int64?

    private enum CodingKeys: String, CodingKey { case lifetime }

    // The members of the reference are beside the others, not nested.
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
