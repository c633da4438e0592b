import CCurl
import VaultModel

#if canImport(Darwin)
import Darwin
#else
import Glibc
#endif

/// The addresses that one hop of a request may be sent to.
///
/// The policy is checked against the connection's actual address. So the host's name, the spelling of an address, or a
/// name server's second response makes no difference.
///
/// If a proxy forwards the request, the connection leads to the proxy, which the operator chose and which may be
/// private. The host is then checked by its name alone, before the request is sent.
struct AddressPolicy: Sendable {
    private let allowsPrivate: Bool
    /// The protocol of the proxy that forwards the request; nil if there is none.
    private let proxy: ProxyAddress.Scheme?
    private let ownListeners: OwnListeners

    /// Creates the policy for one hop.
    ///
    /// - Parameters:
    ///   - reach: the addresses that the request, or the redirect, may be sent to.
    ///   - host: the host of the hop's URL, which the operator may have allowed by name.
    ///   - proxy: the protocol of the proxy that forwards the request; nil if there is none.
    init(reach: NetworkReach, host: String, proxy: ProxyAddress.Scheme? = nil, _ configuration: CurlConfiguration) {
        allowsPrivate = reach == .anywhere || configuration.allowsPrivate(host)
        self.proxy = proxy
        ownListeners = configuration.ownListeners
    }

    /// Returns the failure for a URL that the proxy must not request; nil if it may request it, or there is no proxy.
    func refusal(ofProxied url: MediaURL) -> OriginFailure? {
        guard let proxy else { return nil }
        if let address = ProxiedHost.address(url.host), ownListeners.contain(address, port: url.effectivePort) {
            return Self.isOwn
        }
        guard !allowsPrivate else { return nil }
        // With SOCKS 5, this machine looks up the name, and only libcurl sees the address.
        if proxy == .socks5, ProxiedHost.address(url.host) == nil { return .privateAddress }
        return ProxiedHost.mayBePublic(url.host) ? nil : .privateAddress
    }

    /// Returns the failure for an address that is refused; nil if it is allowed.
    func refusal(of address: NetworkAddress, port: Int) -> OriginFailure? {
        if ownListeners.contain(address, port: port) { return Self.isOwn }
        return proxy != nil || allowsPrivate || address.isPublic ? nil : .privateAddress
    }

    static let isOwn = OriginFailure(.invalidResponse, "it leads back to this service")
    /// The failure for a connection whose address is not an IP address.
    static let notAnIPAddress = OriginFailure(.invalidResponse, "it leads to an address that is not an IP address")
}

/// Checks every connection of a hop against the address policy.
///
/// A new connection is checked before it is opened. Every connection, new or kept, is checked again before the request
/// is sent, because libcurl does not open a connection if it has kept one. A kept connection is also checked for
/// unsolicited bytes received since its last response.
///
/// The hop retains this object for as long as libcurl may call it.
final class AddressGuard {
    private let policy: AddressPolicy
    /// The failure for the last address that was refused.
    private(set) var refusal: OriginFailure?
    /// Whether the request is sent to an address that is not public.
    private(set) var isPrivate = false
    /// Whether the request is sent on a connection that has carried other requests.
    private(set) var isReused = false
    /// Whether the request cannot be sent on the reused connection.
    private(set) var isDirty = false
    private let sockets: OpenSockets
    /// The sockets opened for this hop.
    private var opened: Set<OpenSockets.Serial> = []

    init(_ policy: AddressPolicy, _ sockets: OpenSockets) {
        self.policy = policy
        self.sockets = sockets
    }

    /// Makes libcurl call this guard for each of a handle's connections.
    func watch(_ handle: borrowing CurlHandle) throws(OriginFailure) {
        try handle.set(CURLOPT_OPENSOCKETDATA, context: self)
        let opener: ccurl_socket_opener = { context, _, address in
            guard let context = unsafe context else { return -1 }
            return unsafe Unmanaged<AddressGuard>.fromOpaque(context).takeUnretainedValue().open(address)
        }
        try unsafe handle.set(CURLOPT_OPENSOCKETFUNCTION, opener: opener)
        try handle.set(CURLOPT_PREREQDATA, context: self)
        let requestGuard: ccurl_request_guard = { context, remote, local, remotePort, localPort in
            guard let context = unsafe context else { return CURL_PREREQFUNC_ABORT }
            let ends = unsafe (NetworkAddress(String(cString: remote)), NetworkAddress(String(cString: local)))
            let guardian = unsafe Unmanaged<AddressGuard>.fromOpaque(context).takeUnretainedValue()
            guard guardian.allows(ends.0, port: Int(remotePort)) else { return CURL_PREREQFUNC_ABORT }
            guardian.isPrivate = !(ends.0?.isPublic ?? false)
            let isFit = guardian.isFit(from: (ends.1, Int(localPort)), to: (ends.0, Int(remotePort)))
            return isFit ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
        }
        try unsafe handle.set(CURLOPT_PREREQFUNCTION, requestGuard: requestGuard)
    }

    /// Opens a socket for a new connection.
    ///
    /// - Returns: the socket to connect; -1 if the address is refused or no socket can be created.
    private func open(_ address: UnsafeMutablePointer<curl_sockaddr>) -> Int32 {
        let target = unsafe NetworkAddress.read(ccurl_socket_address(address))
        guard allows(target?.address, port: target?.port ?? 0) else { return -1 }
        // A child process that is started now must not keep the connection open.
        #if canImport(Darwin)
        let descriptor = unsafe socket(address.pointee.family, address.pointee.socktype, address.pointee.protocol)
        if descriptor >= 0 { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
        #else
        let kind = unsafe address.pointee.socktype | Int32(SOCK_CLOEXEC.rawValue)
        let descriptor = unsafe socket(address.pointee.family, kind, address.pointee.protocol)
        #endif
        if descriptor >= 0 { opened.insert(sockets.add(descriptor)) }
        return descriptor
    }

    /// Returns whether a request can be sent on a connection, immediately before it is sent.
    ///
    /// A kept connection may have received bytes since libcurl last checked it. A kept connection whose socket cannot
    /// be found is not used either.
    private func isFit(from local: (NetworkAddress?, Int), to remote: (NetworkAddress?, Int)) -> Bool {
        guard let here = local.0, let there = remote.0,
            let (socket, serial) = sockets.connection(from: (here, local.1), to: (there, remote.1))
        else {
            (isReused, isDirty) = (opened.isEmpty, opened.isEmpty)
            return !isDirty
        }
        isReused = !opened.contains(serial)
        isDirty = isReused && KeptConnection.isDirty(socket)
        return !isDirty
    }

    private func allows(_ address: NetworkAddress?, port: Int) -> Bool {
        let refusal = address.map { policy.refusal(of: $0, port: port) } ?? AddressPolicy.notAnIPAddress
        self.refusal = refusal ?? self.refusal
        return refusal == nil
    }
}

// CCurl's header includes the system's socket headers, so Swift may attribute their types to CCurl.
import CCurl

#if canImport(Darwin)
import Darwin
#else
import Glibc
#endif

/// An IP address as the socket uses it: the result of resolving a name, or of parsing any spelling of an address.
package struct NetworkAddress: Hashable, Sendable {
    /// The bytes in network order, either 4 or 16 of them.
    let bytes: [UInt8]

    init(bytes: [UInt8]) { self.bytes = bytes }

    /// Parses an address in the usual notation; nil for any other text.
    package init?(_ text: String) {
        var four = in_addr()
        var sixteen = in6_addr()
        // A zone names the link that an address is on, and is not part of the address.
        let text = String(text.prefix { $0 != "%" })
        if unsafe inet_pton(AF_INET, text, &four) == 1 {
            bytes = unsafe withUnsafeBytes(of: four) { unsafe Array($0) }
        } else if unsafe inet_pton(AF_INET6, text, &sixteen) == 1 {
            bytes = unsafe withUnsafeBytes(of: sixteen) { unsafe Array($0) }
        } else {
            return nil
        }
    }

    /// Parses an IPv4 address as old programs spell it: `127.1`, `0x7f.0.0.1`, `2130706433`; nil for anything else.
    init?(anySpelling text: String) {
        var four = in_addr()
        guard unsafe inet_aton(text, &four) == 1 else { return nil }
        bytes = unsafe withUnsafeBytes(of: four) { unsafe Array($0) }
    }

    /// Returns whether the address begins with the first `bits` bits of `network`.
    func isIn(_ network: NetworkAddress, bits: Int) -> Bool {
        guard bytes.count == network.bytes.count, 0...(bytes.count * 8) ~= bits else { return false }
        return isIn(Block(bytes: network.bytes, bits: bits))
    }

    /// Returns a socket address's IP address and port; nil for other address families.
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

    /// Whether the address is on the public Internet, according to the special-purpose address registries (RFC 6890).
    var isPublic: Bool {
        if bytes.count == 4 { return !Self.specialIPv4.contains(where: isIn) }
        if let embedded { return embedded.isPublic }
        return isIn(Self.globalIPv6) && !Self.specialIPv6.contains(where: isIn)
    }

    /// Whether the address belongs to this machine, as the system decides by letting a socket be bound to it.
    var isLocal: Bool {
        if let embedded { return embedded.isLocal }
        #if canImport(Darwin)
        let kind = SOCK_DGRAM
        #else
        let kind = Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue)
        #endif
        let descriptor = socket(bytes.count == 4 ? AF_INET : AF_INET6, kind, 0)
        // If no descriptor is free, the connection cannot be opened either.
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

    /// A block of addresses: all those that begin with the first `bits` bits of `bytes`.
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

    /// The IPv4 address embedded in an IPv6 address: mapped, translated (RFC 6052), or 6to4.
    private var embedded: NetworkAddress? {
        guard bytes.count == 16 else { return nil }
        if bytes.starts(with: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF])
            || bytes.starts(with: [0, 0x64, 0xFF, 0x9B, 0, 0, 0, 0, 0, 0, 0, 0])
        {
            return NetworkAddress(bytes: Array(bytes[12...]))
        }
        return bytes.starts(with: [0x20, 0x02]) ? NetworkAddress(bytes: Array(bytes[2..<6])) : nil
    }

    private static let specialIPv4 = [
        Block(bytes: [0], bits: 8), Block(bytes: [10], bits: 8), Block(bytes: [100, 64], bits: 10),
        Block(bytes: [127], bits: 8), Block(bytes: [169, 254], bits: 16), Block(bytes: [172, 16], bits: 12),
        Block(bytes: [192, 0, 0], bits: 24), Block(bytes: [192, 0, 2], bits: 24),
        Block(bytes: [192, 88, 99], bits: 24),
        Block(bytes: [192, 168], bits: 16), Block(bytes: [198, 18], bits: 15), Block(bytes: [198, 51, 100], bits: 24),
        Block(bytes: [203, 0, 113], bits: 24), Block(bytes: [224], bits: 3),
    ]
    /// The global unicast addresses assigned so far; all other addresses are local or unassigned.
    private static let globalIPv6 = Block(bytes: [0x20], bits: 3)
    private static let specialIPv6 = [
        // These are the blocks for protocol assignments, which include Teredo, and for documentation.
        Block(bytes: [0x20, 0x01, 0x00], bits: 23), Block(bytes: [0x20, 0x01, 0x0D, 0xB8], bits: 32),
        Block(bytes: [0x3F, 0xFF, 0x00], bits: 20),
    ]
}

/// The ports on which this process listens. A request to one of them would loop.
package final class OwnListeners: Sendable {
    private let ports = Locked<Set<Int>>([])

    package init() {}

    /// Adds the port of a listener that has started.
    package func add(port: Int) { _ = ports.withLock { $0.insert(port) } }

    /// Returns whether a connection would reach one of the listeners, at any address of this machine.
    func contain(_ address: NetworkAddress, port: Int) -> Bool {
        ports.withLock { $0.contains(port) } && address.isLocal
    }
}
