/// How a download goes about it.
public struct DownloadOptions: Hashable, Sendable {
    /// How many connections fetch at a time, where the origin can jump: 1 to ``mostConnections``.
    public var connections: Int
    /// The most bytes taken from the origin in a second; nil is as many as come.
    public var bytesPerSecond: Int64?

    /// The most connections of one download: more bring nothing, and are not polite.
    public static let mostConnections = 16

    /// One connection, as fast as it goes, unless told otherwise. What lies out of bounds is brought within them.
    public init(connections: Int = 1, bytesPerSecond: Int64? = nil) {
        self.connections = min(max(1, connections), Self.mostConnections)
        self.bytesPerSecond = bytesPerSecond.map { max(1, $0) }
    }
}
