/// How the files that the system lets a process have open are shared out. None of the shares may be passed: where no file is
/// left, the system's own libraries end the process.
package enum OpenFiles {
    /// What the vault, the listeners, and the system's libraries need.
    private static let ours = 40
    /// More segments kept open are of no use: what is read again is read soon.
    private static let mostSegments = 256

    /// How many segments may stay open that are not being read, of so many files: an eighth.
    package static func segments(of limit: Int) -> Int { min(mostSegments, max(0, limit / 8)) }

    /// How many clients there may be, and how many connections to origins: what comes by each of those is written to a
    /// segment, too.
    package static func connections(of limit: Int) -> Int { max(4, (limit - ours - segments(of: limit)) / 3) }
}
