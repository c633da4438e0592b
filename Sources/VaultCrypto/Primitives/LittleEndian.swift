/// Integers as the format writes them: unsigned, little-endian.
package enum LittleEndian {
    package static func bytes<Integer: FixedWidthInteger>(_ value: Integer) -> [UInt8] {
        (0..<MemoryLayout<Integer>.size).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
    }
}
