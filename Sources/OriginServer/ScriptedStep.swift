package import VaultModel

/// One step of an origin's answer.
package enum ScriptedStep: Sendable {
    /// Sends these bytes.
    case bytes([UInt8])
    /// Sends this range of the media.
    case media(PseudoRandomMedia, ByteRange)
    /// Waits until the gate is open; a gate that stays closed is a stall.
    case hold(Gate)
    /// Waits this long, for slow drips.
    case pause(Duration)
    /// Closes the connection.
    case close
    /// Resets the connection (RST); bytes that the client has not read are lost.
    case reset

    /// The bytes that the step sends.
    package var length: Int64 {
        switch self {
        case .bytes(let bytes): Int64(bytes.count)
        case .media(_, let range): range.length
        case .hold, .pause, .close, .reset: 0
        }
    }

    /// Splits the step into its first `count` bytes and the rest.
    package func split(at count: Int64) -> (ScriptedStep, ScriptedStep) {
        switch self {
        case .bytes(let bytes): (.bytes(Array(bytes.prefix(Int(count)))), .bytes(Array(bytes.dropFirst(Int(count)))))
        case .media(let media, let range):
            (
                .media(media, range.lowerBound..<range.lowerBound + count),
                .media(media, range.lowerBound + count..<range.upperBound)
            )
        case .hold, .pause, .close, .reset: (self, self)
        }
    }
}
