/// How the process divides its limit on open files.
///
/// No share may be exceeded: without a free descriptor, the system's own libraries end the process.
package enum DescriptorShares {
    /// The files that the vault, the listeners and the system's libraries need.
    private static let ours = 40
    /// Maximum segments to keep open; more would not help, because a segment is read again soon or not at all.
    private static let maxSegments = 256

    /// The lowest limit with which the command starts: `fetch` has 28 files open at a time, and a service with four
    /// clients needs about as many again.
    package static let least = 64
    /// The limit that the command requests from the system.
    package static let wanted = 4096

    /// The number of files that this process may have open; nil if the system does not report it. It may be raised
    /// while the process runs.
    package static var limit: Int? { SystemLimit.files.current }

    /// Returns how many idle segments may stay open under a limit on open files: an eighth of it, at most 256.
    package static func segments(of limit: Int) -> Int { min(maxSegments, max(0, limit / 8)) }

    /// Returns how many clients, and how many connections to origins, are allowed under a limit on open files.
    ///
    /// Each connection to an origin also needs a segment file to write to, so a share is a third of the rest, at least
    /// 4.
    package static func connections(of limit: Int) -> Int { max(4, (limit - ours - segments(of: limit)) / 3) }
}
