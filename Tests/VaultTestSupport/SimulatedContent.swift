/// The disk's content of one file, and what differs in the running system's view (its volatile content).
struct SimulatedContent {
    static let sectorByteCount = 512

    /// The content that the last successful sync left on the disk.
    private(set) var durable: [UInt8]

    /// Sectors that the system dropped after a failed sync: they count as clean, and no later sync writes them.
    private var droppedSectors: Set<Int> = []

    init(durable: [UInt8]) { self.durable = durable }

    /// Records written bytes: their sectors must be written to the disk again, dropped ones included.
    mutating func wrote(_ range: Range<Int64>) {
        guard !range.isEmpty, !droppedSectors.isEmpty else { return }
        let size = Int64(Self.sectorByteCount)
        for sector in Int(range.lowerBound / size)...Int((range.upperBound - 1) / size) {
            droppedSectors.remove(sector)
        }
    }

    mutating func synchronized(_ volatile: [UInt8]) {
        durable = Self.compose(volatile.count) { sector in
            droppedSectors.contains(sector) ? Self.bytes(of: sector, in: durable) : Self.bytes(of: sector, in: volatile)
        }
    }

    mutating func failedToSynchronize(_ volatile: [UInt8]) {
        for sector in 0..<Self.sectorCount(max(volatile.count, durable.count))
        where Self.bytes(of: sector, in: volatile) != Self.bytes(of: sector, in: durable) {
            droppedSectors.insert(sector)
        }
    }

    /// The content after a power loss: each sector that differs reached the disk or did not, and so did the size.
    func torn(_ volatile: [UInt8], _ dice: inout PowerLossDice) -> [UInt8] {
        let size = dice.size(durable.count, volatile.count)
        return Self.compose(size) { sector in
            let (old, new) = (Self.bytes(of: sector, in: durable), Self.bytes(of: sector, in: volatile))
            return old == new || droppedSectors.contains(sector) || !dice.reachedDisk() ? old : new
        }
    }

    private static func sectorCount(_ size: Int) -> Int { (size + sectorByteCount - 1) / sectorByteCount }

    /// A sector's bytes; zeros past the end of the file.
    private static func bytes(of sector: Int, in content: [UInt8]) -> [UInt8] {
        let first = sector * sectorByteCount
        let part = first < content.count ? Array(content[first..<min(first + sectorByteCount, content.count)]) : []
        return part + Array(repeating: 0, count: sectorByteCount - part.count)
    }

    private static func compose(_ size: Int, _ sector: (Int) -> [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(size + sectorByteCount)
        for index in 0..<sectorCount(size) { result += sector(index) }
        result.removeLast(result.count - size)
        return result
    }
}
