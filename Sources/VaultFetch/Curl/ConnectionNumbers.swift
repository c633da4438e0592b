import Synchronization

/// Numbers the connections to origins, so that two answers can be told to have come by one. Only the loop's thread uses it.
///
/// libcurl names its connections from version 8.2 on alone: the port on this side names one as long as it is open, and
/// a transfer that tried a socket has a new one.
final class ConnectionNumbers {
    private static let last = Atomic<UInt64>(0)
    private var numbers: [Int: UInt64] = [:]

    /// The number of the connection that a transfer has; nil where its port is not known.
    ///
    /// - Parameter isNew: whether the transfer made a connection of its own.
    func number(port: Int, isNew: Bool) -> UInt64? {
        guard port > 0 else { return nil }
        if !isNew, let known = numbers[port] { return known }
        let number = Self.last.add(1, ordering: .relaxed).newValue
        numbers[port] = number
        return number
    }
}
