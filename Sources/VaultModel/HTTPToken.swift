/// The characters of a token, such as a field name or a method (RFC 9110 §5.6.2).
package enum HTTPToken {
    /// Returns whether a byte may be part of a token.
    package static func contains(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: others.contains(byte)
        }
    }

    private static let others = Array("!#$%&'*+-.^_`|~".utf8)
}
