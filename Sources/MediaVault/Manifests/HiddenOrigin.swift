import VaultModel

/// Takes the hosts of origins out of what is left of a manifest beside its links, such as the names of files in templates.
///
/// What names a place otherwise was removed before (`Manifest.withoutRemarks`). No player requests what is left of a
/// host: every link was rewritten.
enum HiddenOrigin {
    /// What is written in place of a host.
    private static let replacement = Array("hidden.invalid".utf8)

    /// Returns the bytes of a manifest without hosts.
    ///
    /// A host without a dot could be any word of the manifest, and stays.
    static func removing(_ hosts: Set<String>, from bytes: [UInt8]) -> [UInt8] {
        hosts.filter { $0.contains(".") || $0.contains(":") }.sorted { $0.count > $1.count }
            .reduce(bytes) { replacing(Array($1.lowercased().utf8), in: $0) }
    }

    private static func replacing(_ host: [UInt8], in bytes: [UInt8]) -> [UInt8] {
        guard let first = host.first else { return bytes }
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count)
        var position = 0
        while position < bytes.count {
            let end = position + host.count
            if lowercased(bytes[position]) == first, end <= bytes.count,
                zip(bytes[position..<end], host).allSatisfy({ lowercased($0) == $1 })
            {
                result += replacement
                position = end
            } else {
                result.append(bytes[position])
                position += 1
            }
        }
        return result
    }

    private static func lowercased(_ byte: UInt8) -> UInt8 { (0x41...0x5A).contains(byte) ? byte + 0x20 : byte }
}
