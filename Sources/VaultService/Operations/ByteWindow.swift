import MediaVault

/// Cuts the bytes asked for out of what a reader hands over, which is the whole where an origin knows no ranges.
struct ByteWindow: Hashable, Sendable {
    private let wanted: ByteRange
    private var position: Int64

    init(_ range: RequestedRange, of reader: MediaReader) throws {
        guard reader.isWholeAnswer else {
            // The reader hands over what was asked for.
            self.init(0..<Int64.max, from: 0)
            return
        }
        try self.init(range, length: reader.information.length)
    }

    /// A window into a whole of `length` bytes; nil where nobody knows.
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
                    "the origin does not say how long the title is, so its end cannot be named; fetch it first")
            }
            self.init(first..<(range.endLimit ?? .max), from: 0)
        }
    }

    private init(_ wanted: ByteRange, from position: Int64) {
        self.wanted = wanted
        self.position = position
    }

    /// The first byte wanted.
    var first: Int64 { wanted.lowerBound }

    /// Whether no more bytes are wanted.
    var isDone: Bool { position >= wanted.upperBound }

    /// Checks, at the end of the whole, that the first byte wanted came.
    func check() throws {
        guard wanted.lowerBound > 0, position <= wanted.lowerBound else { return }
        throw Self.outside(position)
    }

    /// The wanted part of the next bytes.
    mutating func cut(_ bytes: [UInt8]) -> ArraySlice<UInt8> {
        let here = position..<position + Int64(bytes.count)
        position = here.upperBound
        guard here.overlaps(wanted) else { return [] }
        let part = here.clamped(to: wanted)
        return bytes[Int(part.lowerBound - here.lowerBound)..<Int(part.upperBound - here.lowerBound)]
    }

    private static func outside(_ length: Int64) -> VaultError {
        var error = VaultError(
            .unsatisfiableRange, "the range lies outside the title's \(length) bytes; ask for one within them")
        error.length = length
        return error
    }
}
