import MediaVault
import VaultModel

/// Selects the requested bytes from the bytes that a reader delivers.
///
/// This is necessary because a reader delivers the whole representation if the origin does not support ranges.
struct ByteWindow: Hashable, Sendable {
    private let wanted: ByteRange
    private var position: Int64

    init(_ range: RequestedRange, of reader: MediaReader) throws {
        guard reader.isWholeAnswer else {
            // The reader delivers only the requested range.
            self.init(0..<Int64.max, from: 0)
            return
        }
        try self.init(range, length: reader.information.length)
    }

    /// Creates a window into a representation.
    ///
    /// - Parameter length: the representation's length in bytes; nil if it is unknown.
    init(_ range: RequestedRange, length: Int64?) throws {
        if let length {
            guard let wanted = range.resolved(length: length) else {
                throw Self.outside(length)
            }
            self.init(wanted, from: 0)
        } else {
            guard let first = range.firstByte else {
                throw VaultError(
                    .unsatisfiableRange,
                    "the origin does not report the title's length, so a range from its end is unknown; fetch it first")
            }
            self.init(first..<(range.endLimit ?? .max), from: 0)
        }
    }

    private init(_ wanted: ByteRange, from position: Int64) {
        self.wanted = wanted
        self.position = position
    }

    /// The position of the first requested byte.
    var first: Int64 { wanted.lowerBound }

    /// Whether all requested bytes have been delivered.
    var isDone: Bool { position >= wanted.upperBound }

    /// Checks, at the end of the representation, that the representation contains the first requested byte.
    ///
    /// - Throws: ``VaultError`` with code `unsatisfiableRange` if it does not.
    func check() throws {
        guard wanted.lowerBound > 0, position <= wanted.lowerBound else { return }
        throw Self.outside(position)
    }

    /// Returns the part of the next bytes that was requested.
    mutating func cut(_ bytes: [UInt8]) -> ArraySlice<UInt8> {
        let here = position..<position + Int64(bytes.count)
        position = here.upperBound
        guard here.overlaps(wanted) else { return [] }
        let part = here.clamped(to: wanted)
        return bytes[Int(part.lowerBound - here.lowerBound)..<Int(part.upperBound - here.lowerBound)]
    }

    private static func outside(_ length: Int64) -> VaultError {
        var error = VaultError(
            .unsatisfiableRange, "the range is outside the title's \(length) bytes; request a range within them")
        error.length = length
        return error
    }
}
