import CCurl
import VaultModel

#if canImport(Darwin)
import Darwin
#else
import Glibc
#endif

/// Asks the address policy about every connection of a hop: about a new one before it is made, and, as libcurl makes none
/// where it has kept one, about each before the request goes out. A kept one is looked at then, too: what has come on it
/// since its last answer, nobody has asked for.
///
/// The hop holds this for as long as libcurl may call it.
final class AddressGuard {
    private let policy: AddressPolicy
    /// Why an address was refused last.
    private(set) var refusal: OriginFailure?
    /// Whether the request goes out on a connection that has carried others.
    private(set) var isReused = false
    /// Whether that one is not fit to carry it.
    private(set) var isDirty = false
    private let sockets: OpenSockets
    /// Those opened for this hop.
    private var opened: Set<OpenSockets.Serial> = []

    init(_ policy: AddressPolicy, _ sockets: OpenSockets) {
        self.policy = policy
        self.sockets = sockets
    }

    /// Has libcurl ask for each connection of a handle.
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
            let isFit = guardian.isFit(from: (ends.1, Int(localPort)), to: (ends.0, Int(remotePort)))
            return isFit ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
        }
        try unsafe handle.set(CURLOPT_PREREQFUNCTION, requestGuard: requestGuard)
    }

    /// - Returns: a socket to connect; -1 where the address is refused, or there is none to be had.
    private func open(_ address: UnsafeMutablePointer<curl_sockaddr>) -> Int32 {
        let target = unsafe NetworkAddress.read(ccurl_socket_address(address))
        guard allows(target?.address, port: target?.port ?? 0) else { return -1 }
        // A command that is started meanwhile must not hold the connection open.
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

    /// Looks at the connection right before the request goes out on it: a kept one may have got something since libcurl
    /// looked. One that is not found is as good as a dirty one.
    private func isFit(from local: (NetworkAddress?, Int), to remote: (NetworkAddress?, Int)) -> Bool {
        guard let here = local.0, let there = remote.0,
            let (socket, serial) = sockets.connection(from: (here, local.1), to: (there, remote.1))
        else {
            (isReused, isDirty) = (opened.isEmpty, opened.isEmpty)
            return !isDirty
        }
        isReused = !opened.contains(serial)
        isDirty = isReused && SpentConnection.isDirty(socket)
        return !isDirty
    }

    private func allows(_ address: NetworkAddress?, port: Int) -> Bool {
        let refusal = address.map { policy.refusal(of: $0, port: port) } ?? AddressPolicy.isStrange
        self.refusal = refusal ?? self.refusal
        return refusal == nil
    }
}
