import MediaVault
import VaultModel

/// A title that a player is playing.
struct PlaybackDocument: Codable, Hashable, Sendable {
    /// The kind of holder for whom the player's link was created.
    enum Holder: String, Codable, CaseIterable, Sendable { case viewer, session, link, token, unknown }

    /// The title; null if it has no id.
    @OrNull var id: TitleID?
    @OrNull var name: String?
    let url: String
    let holder: Holder
    /// The name of the viewer, the named link or the token, or the browser of the session; null if there is none.
    @OrNull var holderName: String?
    let began: Timestamp
    /// When the player last requested something of it.
    let last: Timestamp
    /// How many answers the service is sending.
    let open: Int
}

/// What is being played, the latest first.
struct PlaybacksDocument: Codable, Sendable {
    let playbacks: [PlaybackDocument]
}

/// The main figures of a service over the last hour.
struct HistoryDocument: Codable, Sendable {
    struct Sample: Codable, Hashable, Sendable {
        let time: Timestamp
        /// Bytes that origins have sent since the vault was created, and bytes sent to clients since the service
        /// started.
        let fetched, served: Int64
        /// The bytes sealed in the vault.
        let held: Int64
        /// How many downloads of the queue are running.
        let downloads: Int
        /// How many titles are being played, each by one holder of a link.
        let playbacks: Int
    }

    /// The seconds between two samples.
    let every: Int
    /// The samples, the earliest first.
    let samples: [Sample]
}
