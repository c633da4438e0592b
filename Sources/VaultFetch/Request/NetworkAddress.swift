// Its header brings the system's socket addresses in, and may be taken for where they are from.
import CCurl

#if canImport(Darwin)
import Darwin
#else
import Glibc
#endif

/// An IP address, as the socket gets it: what a name, or an odd spelling of a number, has come to in the end.
package struct NetworkAddress: Hashable, Sendable {
    /// 4 bytes, or 16.
    let bytes: [UInt8]

    init(bytes: [UInt8]) { self.bytes = bytes }

    /// Reads the usual spelling; nil for every other.
    package init?(_ text: String) {
        var four = in_addr()
        var sixteen = in6_addr()
        // A zone says on which link an address lies, not what it is.
        let text = String(text.prefix { $0 != "%" })
        if unsafe inet_pton(AF_INET, text, &four) == 1 {
            bytes = unsafe withUnsafeBytes(of: four) { unsafe Array($0) }
        } else if unsafe inet_pton(AF_INET6, text, &sixteen) == 1 {
            bytes = unsafe withUnsafeBytes(of: sixteen) { unsafe Array($0) }
        } else {
            return nil
        }
    }

    /// The address and the port of a socket address; nil where it is none of IP.
    static func read(_ address: UnsafePointer<sockaddr>) -> (address: NetworkAddress, port: Int)? {
        let raw = unsafe UnsafeRawPointer(address)
        switch Int32(unsafe address.pointee.sa_family) {
        case AF_INET:
            var four = sockaddr_in()
            unsafe withUnsafeMutableBytes(of: &four) { unsafe $0.copyMemory(from: .init(start: raw, count: $0.count)) }
            let bytes = unsafe withUnsafeBytes(of: four.sin_addr) { unsafe Array($0) }
            return (NetworkAddress(bytes: bytes), Int(in_port_t(bigEndian: four.sin_port)))
        case AF_INET6:
            var sixteen = sockaddr_in6()
            unsafe withUnsafeMutableBytes(of: &sixteen) {
                unsafe $0.copyMemory(from: .init(start: raw, count: $0.count))
            }
            let bytes = unsafe withUnsafeBytes(of: sixteen.sin6_addr) { unsafe Array($0) }
            return (NetworkAddress(bytes: bytes), Int(in_port_t(bigEndian: sixteen.sin6_port)))
        default: return nil
        }
    }

    /// Whether it is one of the public Internet, by the registries of special addresses (RFC 6890).
    var isPublic: Bool {
        if bytes.count == 4 { return !Self.specialFour.contains(where: isIn) }
        if let embedded { return embedded.isPublic }
        return isIn(Self.globalSixteen) && !Self.specialSixteen.contains(where: isIn)
    }

    /// Whether it is an address of this machine: one that a socket can be bound to. Asks the system.
    var isOfThisMachine: Bool {
        if let embedded { return embedded.isOfThisMachine }
        #if canImport(Darwin)
        let kind = SOCK_DGRAM
        #else
        let kind = Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue)
        #endif
        let descriptor = socket(bytes.count == 4 ? AF_INET : AF_INET6, kind, 0)
        // Without a descriptor there will be no connection either.
        guard descriptor >= 0 else { return true }
        defer { close(descriptor) }
        if bytes.count == 4 {
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            unsafe withUnsafeMutableBytes(of: &address.sin_addr) { unsafe $0.copyBytes(from: bytes) }
            return Self.canBind(descriptor, address)
        }
        var address = sockaddr_in6()
        address.sin6_family = sa_family_t(AF_INET6)
        unsafe withUnsafeMutableBytes(of: &address.sin6_addr) { unsafe $0.copyBytes(from: bytes) }
        return Self.canBind(descriptor, address)
    }

    private static func canBind<Address>(_ descriptor: Int32, _ address: Address) -> Bool {
        unsafe withUnsafeBytes(of: address) { bytes in
            unsafe bind(
                descriptor, bytes.assumingMemoryBound(to: sockaddr.self).baseAddress, socklen_t(bytes.count)) == 0
        }
    }

    // MARK: Blocks

    /// The addresses that begin with so many bits.
    private struct Block {
        let bytes: [UInt8]
        let bits: Int
    }

    private func isIn(_ block: Block) -> Bool {
        let whole = block.bits / 8
        guard bytes.starts(with: block.bytes.prefix(whole)) else { return false }
        let rest = block.bits % 8
        return rest == 0 || (bytes[whole] ^ block.bytes[whole]) >> (8 - rest) == 0
    }

    /// The IPv4 address that an IPv6 one leads to: mapped, translated (RFC 6052), or 6to4.
    private var embedded: NetworkAddress? {
        guard bytes.count == 16 else { return nil }
        if bytes.starts(with: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF])
            || bytes.starts(with: [0, 0x64, 0xFF, 0x9B, 0, 0, 0, 0, 0, 0, 0, 0])
        {
            return NetworkAddress(bytes: Array(bytes[12...]))
        }
        return bytes.starts(with: [0x20, 0x02]) ? NetworkAddress(bytes: Array(bytes[2..<6])) : nil
    }

    private static let specialFour = [
        Block(bytes: [0], bits: 8), Block(bytes: [10], bits: 8), Block(bytes: [100, 64], bits: 10),
        Block(bytes: [127], bits: 8), Block(bytes: [169, 254], bits: 16), Block(bytes: [172, 16], bits: 12),
        Block(bytes: [192, 0, 0], bits: 24), Block(bytes: [192, 0, 2], bits: 24),
        Block(bytes: [192, 88, 99], bits: 24),
        Block(bytes: [192, 168], bits: 16), Block(bytes: [198, 18], bits: 15), Block(bytes: [198, 51, 100], bits: 24),
        Block(bytes: [203, 0, 113], bits: 24), Block(bytes: [224], bits: 3),
    ]
    /// All that has been given out so far; what lies outside is local, or nobody's.
    private static let globalSixteen = Block(bytes: [0x20], bits: 3)
    private static let specialSixteen = [
        // Protocols' own, Teredo among them; documentation.
        Block(bytes: [0x20, 0x01, 0x00], bits: 23), Block(bytes: [0x20, 0x01, 0x0D, 0xB8], bits: 32),
        Block(bytes: [0x3F, 0xFF, 0x00], bits: 20),
    ]
}
