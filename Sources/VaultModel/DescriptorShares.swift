/// The way in which the process divides its limit on open files among its parts.
///
/// No part may exceed its share, because the system's own libraries end the process when no descriptor is free.
package enum DescriptorShares {
    /// The number of files that the vault, the listeners and the system's libraries need.
    private static let ours = 40
    /// The maximum number of segments to keep open. More would not help, because a segment is read again soon or never.
    private static let maxSegments = 256

    /// The lowest limit with which the command starts: `fetch` has up to 28 files open at a time, and a service with
    /// four clients needs about as many again.
    package static let least = 64
    /// The limit that the command requests from the system.
    package static let wanted = 4096

    /// The number of files that this process may have open; nil if the system does not report it. The number may be
    /// raised while the process runs.
    package static var limit: Int? { SystemLimit.files.current }

    /// Returns the number of idle segments that may stay open under a limit on open files: an eighth, at most 256.
    package static func segments(of limit: Int) -> Int { min(maxSegments, max(0, limit / 8)) }

    /// Returns the number of clients, and of connections to origins, that are allowed under a limit on open files.
    ///
    /// Each connection to an origin also needs a segment file to write to, so each share is a third of what the other
    /// shares leave, at least 4.
    package static func connections(of limit: Int) -> Int { max(4, (limit - ours - segments(of: limit)) / 3) }
}
