package import VaultModel

/// What an answer that may be used carries.
package enum ResponseContent: Hashable, Sendable {
    /// These bytes of the representation, perhaps fewer than were asked for, and its length where the origin says it.
    case partial(ByteRange, total: Int64?)
    /// All of it, from byte 0; to a HEAD, what a GET would carry.
    case whole(length: Int64?)
    /// Nothing: the representation ends at or before the first byte asked for.
    case unsatisfiable(total: Int64?)

    /// The representation's length, where the answer says it.
    package var length: Int64? {
        switch self {
        case .partial(_, let length), .whole(let length), .unsatisfiable(let length): length
        }
    }
}
