import Foundation
import VaultTestSupport

/// Searches for bytes that must be nowhere in a folder.
enum Traces {
    /// Returns how many of these values are in a file below a folder. Only their first 28 bytes are compared.
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
