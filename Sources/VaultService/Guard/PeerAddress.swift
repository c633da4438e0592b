import NIOCore

/// Who a client is, as far as shares of the connections go: its IPv4 address, or its IPv6 network of 64 bits, of which a
/// machine may take as many addresses as it likes.
struct PeerAddress: Hashable, Sendable {
    private let bytes: [UInt8]

    /// - Parameter bytes: the 4 or 16 of an IP address.
    /// - Returns: nil for this machine itself, where all clients have one address.
    init?(_ bytes: [UInt8]) {
        let isMapped = bytes.count == 16 && bytes.starts(with: Self.mapped)
        let plain = isMapped ? Array(bytes[12...]) : bytes
        guard plain.count == 4 ? plain[0] != 127 : plain != Self.loopback else { return nil }
        self.bytes = plain.count == 4 ? plain : Array(plain.prefix(8))
    }

    /// - Parameter address: where a connection comes from; nil where nobody knows any more.
    /// - Returns: nil for this machine itself, by a socket file too.
    init?(_ address: SocketAddress?) {
        // Where the address lies in the system's structure, whose fields have no module of their own on every platform.
        let place: Range<Int>
        switch address {
        case .v4: place = 4..<8
        case .v6: place = 8..<24
        default: return nil
        }
        let bytes = unsafe address?.withSockAddr { pointer, size in
            // As long as the library says; what is copied lies within for either kind.
            unsafe Array(UnsafeRawBufferPointer(start: pointer, count: size)[place])
        }
        guard let bytes else { return nil }
        self.init(bytes)
    }

    private static let loopback = [UInt8](repeating: 0, count: 15) + [1]
    /// What an IPv4 address begins with on a listener that takes both.
    private static let mapped = [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF]
}
