import Foundation
import VaultTestSupport

/// Looks for bytes that must stand nowhere.
enum Traces {
    /// How many of these values stand in a file below a folder. Told apart, and found, by their first 28 bytes.
    static func count(of values: [[UInt8]], below folder: String) throws -> Int {
        let wanted = Set(values.map { Array($0.prefix(28)) })
        var found: Set<[UInt8]> = []
        let starts = Set(wanted.map { UInt32($0[0]) << 16 | UInt32($0[1]) << 8 | UInt32($0[2]) })
        for file in try TemporaryFolder.files(below: folder) {
            let bytes = Array(try Data(contentsOf: URL(filePath: file)))
            guard bytes.count >= 28 else { continue }
            for place in 0...(bytes.count - 28) {
                let start = UInt32(bytes[place]) << 16 | UInt32(bytes[place + 1]) << 8 | UInt32(bytes[place + 2])
                guard starts.contains(start) else { continue }
                let candidate = Array(bytes[place..<(place + 28)])
                if wanted.contains(candidate) { found.insert(candidate) }
            }
        }
        return found.count
    }
}
