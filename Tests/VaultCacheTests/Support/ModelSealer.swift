import SeededRandom
import VaultModel

@testable import VaultCache

/// The sealer of one transfer, and the segments that it writes, without a file.
struct ModelSealer {
    private static let block: Int64 = 32 << 10
    /// Whether it has not finished.
    var isRunning = true
    /// The segment being written, and the number of bytes in its incomplete block.
    private(set) var writing: SegmentDescription?
    private var filling: Int64 = 0

    static func segment(_ number: UInt16, _ range: ByteRange) -> SegmentDescription {
        let bytes = [UInt8(number >> 8), UInt8(number & 255)] + [UInt8](repeating: 1, count: SegmentKind.byteCount - 2)
        guard let id = SegmentID(bytes: bytes),
            let representation = RepresentationID(bytes: [UInt8](repeating: 1, count: RepresentationKind.byteCount))
        else { preconditionFailure("the ids have their size") }
        return SegmentDescription(
            id: id, representation: representation, keyNumber: 1, blockSize: Int(block), start: range.lowerBound,
            length: range.length)
    }

    /// Returns whether it can go on.
    func mayAct(for fetch: FetchState?, isAsleep: Bool) -> Bool {
        isRunning && (!isAsleep || fetch?.sealerSignal.isRaised ?? true)
    }

    /// Seals bytes that begin at an offset.
    ///
    /// - Parameter last: the number of the last segment.
    /// - Returns: the segment that ended before them, if they do not follow it, and the one that they are in.
    mutating func write(_ count: Int64, at offset: Int64, after last: inout UInt16) -> [SegmentDescription] {
        var ended: SegmentDescription?
        if writing.map({ $0.range.upperBound + filling }) != offset {
            ended = close()
            last += 1
            writing = Self.segment(last, offset..<offset)
        }
        filling += count
        let whole = filling - filling % Self.block
        writing?.length += whole
        filling -= whole
        return [ended, writing].compactMap(\.self)
    }

    /// Returns the segment that was being written, with its incomplete block.
    mutating func close() -> SegmentDescription? {
        defer { giveUp() }
        writing?.length += filling
        return writing
    }

    /// Gives up the segment that is being written.
    mutating func giveUp() { (writing, filling) = (nil, 0) }
}

extension SeededGenerator {
    /// Returns one of the actors of a model; a slow one seldom, so that the others run far ahead of it.
    mutating func choose<Actor>(among actors: [Actor], isSlow: (Actor) -> Bool) -> Actor? {
        let quick = actors.filter { !isSlow($0) }
        return (quick.isEmpty || Int.random(in: 0..<50, using: &self) == 0 ? actors : quick)
            .randomElement(using: &self)
    }
}
