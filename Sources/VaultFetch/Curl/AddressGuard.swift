import CCurl
import VaultModel

#if canImport(Darwin)
import Darwin
#else
import Glibc
#endif

/// Asks the address policy about every connection of a hop: about a new one before it is made, and, as libcurl makes none
/// where it has kept one, about each before the request goes out.
///
/// The hop holds this for as long as libcurl may call it.
final class AddressGuard {
    private let policy: AddressPolicy
    /// Why an address was refused last.
    private(set) var refusal: OriginFailure?

    init(_ policy: AddressPolicy) { self.policy = policy }

    /// Has libcurl ask for each connection of a handle.
    func watch(_ handle: borrowing CurlHandle) throws(OriginFailure) {
        try handle.set(CURLOPT_OPENSOCKETDATA, context: self)
        let opener: ccurl_socket_opener = { context, _, address in
            guard let context = unsafe context else { return -1 }
            return unsafe Unmanaged<AddressGuard>.fromOpaque(context).takeUnretainedValue().open(address)
        }
        try unsafe handle.set(CURLOPT_OPENSOCKETFUNCTION, opener: opener)
        try handle.set(CURLOPT_PREREQDATA, context: self)
        let requestGuard: ccurl_request_guard = { context, remote, _, port, _ in
            guard let context = unsafe context else { return CURL_PREREQFUNC_ABORT }
            let text = unsafe String(cString: remote)
            let isAllowed = unsafe Unmanaged<AddressGuard>.fromOpaque(context).takeUnretainedValue()
                .allows(NetworkAddress(text), port: Int(port))
            return isAllowed ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
        }
        try unsafe handle.set(CURLOPT_PREREQFUNCTION, requestGuard: requestGuard)
    }

    /// - Returns: a socket to connect; -1 where the address is refused, or there is none to be had.
    private func open(_ address: UnsafeMutablePointer<curl_sockaddr>) -> Int32 {
        let target = unsafe NetworkAddress.read(ccurl_socket_address(address))
        guard allows(target?.address, port: target?.port ?? 0) else { return -1 }
        let descriptor = unsafe socket(address.pointee.family, address.pointee.socktype, address.pointee.protocol)
        // A command that is started meanwhile must not hold the connection open.
        if descriptor >= 0 { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
        return descriptor
    }

    private func allows(_ address: NetworkAddress?, port: Int) -> Bool {
        let refusal = address.map { policy.refusal(of: $0, port: port) } ?? AddressPolicy.isStrange
        self.refusal = refusal ?? self.refusal
        return refusal == nil
    }
}
