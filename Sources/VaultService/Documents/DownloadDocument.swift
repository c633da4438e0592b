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
