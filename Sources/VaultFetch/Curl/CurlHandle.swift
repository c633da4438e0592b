import CCurl
import VaultModel

#if canImport(Darwin)
import Darwin
#else
import Glibc
#endif

/// One libcurl transfer handle, freed with its owner. Only the loop's thread touches it.
@safe struct CurlHandle: ~Copyable {
    /// Tells handles apart; not a way to reach one.
    struct ID: Hashable {
        private let address: UInt

        init(_ pointer: UnsafeMutableRawPointer) { address = UInt(bitPattern: pointer) }
    }

    /// Lent to the multi handle.
    let pointer: UnsafeMutableRawPointer
    private var fields: UnsafeMutablePointer<curl_slist>?

    init() throws(OriginFailure) {
        guard let pointer = unsafe curl_easy_init() else { throw Self.unusable }
        unsafe self.pointer = pointer
    }

    deinit {
        unsafe curl_easy_cleanup(pointer)
        unsafe curl_slist_free_all(fields)
    }

    var id: ID { unsafe ID(pointer) }

    func set(_ option: CURLoption, _ value: Int) throws(OriginFailure) {
        try Self.check(unsafe ccurl_set_long(pointer, option, value))
    }

    func set(_ option: CURLoption, _ value: String) throws(OriginFailure) {
        try Self.check(unsafe ccurl_set_string(pointer, option, value))
    }

    /// Takes the built-in value of an option away.
    func clear(_ option: CURLoption) throws(OriginFailure) {
        try Self.check(unsafe ccurl_set_string(pointer, option, nil))
    }

    /// Sets the header lines; called once.
    mutating func set(fields lines: [String]) throws(OriginFailure) {
        for line in lines {
            guard let longer = unsafe curl_slist_append(fields, line) else { throw Self.unusable }
            unsafe fields = longer
        }
        try Self.check(unsafe ccurl_set_list(pointer, CURLOPT_HTTPHEADER, fields))
    }

    /// Sets what receives the bytes of the head or of the body.
    func set(_ option: CURLoption, _ receiver: @escaping ccurl_receiver) throws(OriginFailure) {
        try Self.check(unsafe ccurl_set_receiver(pointer, option, receiver))
    }

    /// Sets the context that a receiver is given back. `context` must outlive the handle's last use.
    func set(_ option: CURLoption, context: AnyObject) throws(OriginFailure) {
        try Self.check(unsafe ccurl_set_pointer(pointer, option, Unmanaged.passUnretained(context).toOpaque()))
    }

    /// What is called with each socket that a connection is made on.
    func set(_ option: CURLoption, observer: @escaping ccurl_socket_observer) throws(OriginFailure) {
        try Self.check(unsafe ccurl_set_socket_observer(pointer, option, observer))
    }

    /// What is asked for the socket of a new connection.
    func set(_ option: CURLoption, opener: @escaping ccurl_socket_opener) throws(OriginFailure) {
        try Self.check(unsafe ccurl_set_socket_opener(pointer, option, opener))
    }

    /// What is asked before the request goes out.
    func set(_ option: CURLoption, requestGuard: @escaping ccurl_request_guard) throws(OriginFailure) {
        try Self.check(unsafe ccurl_set_request_guard(pointer, option, requestGuard))
    }

    /// Whether the system said, to the connection attempt that failed, that nobody listens there.
    var wasRefused: Bool {
        var error = 0
        let result = unsafe ccurl_get_long(pointer, CURLINFO_OS_ERRNO, &error)
        return result == CURLE_OK && error == Int(ECONNREFUSED)
    }

    /// The port on this side of the connection that the transfer has; 0 before it has one.
    var localPort: Int {
        var port = 0
        let result = unsafe ccurl_get_long(pointer, CURLINFO_LOCAL_PORT, &port)
        return result == CURLE_OK ? port : 0
    }

    /// Goes on after a pause. libcurl may hand over what it kept before this returns.
    func resume() -> CURLcode {
        unsafe curl_easy_pause(pointer, CURLPAUSE_CONT)
    }

    private static func check(_ code: CURLcode) throws(OriginFailure) {
        guard code == CURLE_OK else { throw unusable }
    }

    static let unusable = OriginFailure(.unreachable, "libcurl refused to prepare the request")
}
