import MediaVault
import VaultModel

/// A title that a player plays at the moment.
struct PlaybackDocument: Codable, Hashable, Sendable {
    /// What the link that the player uses was created for.
    enum Holder: String, Codable, CaseIterable, Sendable { case viewer, session, link, token, unknown }

    /// The title; null if it has no id.
    @OrNull var id: TitleID?
    @OrNull var name: String?
    let url: String
    let holder: Holder
    /// The name of the viewer, the named link or the token, or the browser of the session; null if there is none.
    @OrNull var holderName: String?
    let began: Timestamp
    /// When something of it was requested last.
    let last: Timestamp
    /// How many answers are being sent.
    let open: Int
}

/// What is played at the moment, the latest first.
struct PlaybacksDocument: Codable, Sendable {
    let playbacks: [PlaybackDocument]
}

/// The main figures of a service over the last hour.
struct HistoryDocument: Codable, Sendable {
    struct Sample: Codable, Hashable, Sendable {
        let time: Timestamp
        /// Bytes that origins have sent since the vault was created, and that clients were sent since the service began.
        let fetched, served: Int64
        /// The bytes that are sealed in the vault.
        let held: Int64
        /// How many downloads of the queue are running.
        let downloads: Int
        /// How many titles are being played, each by one holder of a link.
        let playbacks: Int
    }

    /// The seconds between two samples.
    let every: Int
    /// The earliest first.
    let samples: [Sample]
}
