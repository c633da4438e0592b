/// The shares in which the process divides its limit on open files.
///
/// No share may be exceeded: when no descriptor is left, the system's own libraries end the process.
package enum DescriptorShares {
    /// The files that the vault, the listeners and the system's libraries need.
    private static let ours = 40
    /// The most segments to keep open; more are of no use, because segments are read again soon or not at all.
    private static let maxSegments = 256

    /// The fewest with which a process of the command starts: what is opened at a time is 28 in `fetch`, and a service with
    /// four clients needs about as many again.
    package static let least = 64
    /// The most that a process of the command asks for.
    package static let wanted = 4096

    /// The number of files that the system lets this process have open; nil if it does not say. It may be raised while
    /// the process runs.
    package static var limit: Int? { SystemLimit.files.current }

    /// Returns how many idle segments may stay open under a limit on open files: an eighth of it, at most 256.
    package static func segments(of limit: Int) -> Int { min(maxSegments, max(0, limit / 8)) }

    /// Returns how many clients, and how many connections to origins, are allowed under a limit on open files.
    ///
    /// Each connection to an origin also needs a segment file to write to, so a share is a third of the rest, at least
    /// 4.
    package static func connections(of limit: Int) -> Int { max(4, (limit - ours - segments(of: limit)) / 3) }
}
