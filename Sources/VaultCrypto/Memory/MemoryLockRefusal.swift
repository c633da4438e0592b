/// That memory for secrets could not be locked: why, and what to do.
package struct MemoryLockRefusal: Hashable, Sendable, CustomStringConvertible {
    /// What the system said.
    let errno: Int32
    /// How many bytes the process may lock; nil where there is no limit, or it is not known.
    let limit: Int64?

    /// A sentence without a full stop, the remedy included.
    package var description: String {
        let bound = limit.map { " (the limit is \($0 >> 10) KiB)" } ?? " (error \(errno))"
        return "keys cannot be locked in memory\(bound) and may be written to a swap device; raise the limit "
            + "(LimitMEMLOCK= of a unit, ulimit -l) or turn swap off"
    }
}
