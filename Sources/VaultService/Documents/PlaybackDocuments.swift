import MediaVault
import VaultModel

/// A title that a player is playing.
struct PlaybackDocument: Codable, Hashable, Sendable {
    /// What kind of holder the player's link was created for.
    enum Holder: String, Codable, CaseIterable, Sendable { case viewer, session, link, token, unknown }

    /// The id of the title; null if it has none.
    @OrNull var id: TitleID?
    @OrNull var name: String?
    let url: String
    let holder: Holder
    /// The name of the viewer, the named link or the token, or the browser of the session; null if there is none.
    @OrNull var holderName: String?
    let began: Timestamp
    /// When the player last requested any part of the title.
    let last: Timestamp
    /// The number of answers that the service is currently sending to the player.
    let open: Int
}

/// The titles that are being played, latest first.
struct PlaybacksDocument: Codable, Sendable {
    let playbacks: [PlaybackDocument]
}

/// The main figures of a service over the last hour.
struct HistoryDocument: Codable, Sendable {
    struct Sample: Codable, Hashable, Sendable {
        let time: Timestamp
        /// The number of bytes that origins have sent since the vault was created, and the number of bytes sent to
        /// clients since the service started.
        let fetched, served: Int64
        /// The number of bytes sealed in the vault.
        let held: Int64
        /// The number of queued downloads that are running.
        let downloads: Int
        /// The number of current playbacks. Each is one title played by one holder of a link.
        let playbacks: Int
    }

    /// The number of seconds between two samples.
    let every: Int
    /// The samples, earliest first.
    let samples: [Sample]
}
