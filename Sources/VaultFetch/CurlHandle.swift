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

/// libcurl's multi handle: many transfers on one thread, which alone touches it but for ``Waker``.
@safe struct CurlMulti: ~Copyable {
    /// Ends the wait of ``poll()`` from another thread. It must not be used after the multi handle is gone.
    @safe struct Waker: @unchecked Sendable {  // curl_multi_wakeup is the one call that libcurl allows to any thread
        fileprivate let pointer: UnsafeMutableRawPointer

        func wake() { _ = unsafe curl_multi_wakeup(pointer) }
    }

    private let pointer: UnsafeMutableRawPointer

    /// - Returns: nil where libcurl has no memory, no descriptors, or is too old for what is asked of it.
    init?() {
        guard CurlLibrary.isUsable, let pointer = unsafe curl_multi_init() else { return nil }
        // A paused stream that shares its connection would be buffered inside libcurl, up to its whole window.
        guard unsafe ccurl_multi_set_long(pointer, CURLMOPT_MAX_CONCURRENT_STREAMS, 1) == CURLM_OK else {
            _ = unsafe curl_multi_cleanup(pointer)
            return nil
        }
        unsafe self.pointer = pointer
    }

    deinit { _ = unsafe curl_multi_cleanup(pointer) }

    var waker: Waker { unsafe Waker(pointer: pointer) }

    /// Bounds how many connections there are. What is more waits until one is free; one that is kept for later goes first.
    func bound(connections count: Int) {
        _ = unsafe ccurl_multi_set_long(pointer, CURLMOPT_MAX_TOTAL_CONNECTIONS, count)
    }

    func add(_ handle: borrowing CurlHandle) -> Bool {
        unsafe curl_multi_add_handle(pointer, handle.pointer) == CURLM_OK
    }

    /// Takes a transfer out; an unfinished one loses its connection, or its stream.
    func remove(_ handle: borrowing CurlHandle) {
        _ = unsafe curl_multi_remove_handle(pointer, handle.pointer)
    }

    /// Moves every transfer on as far as it goes without waiting.
    func perform() {
        var running: Int32 = 0
        _ = unsafe curl_multi_perform(pointer, &running)
    }

    /// Waits until a socket is ready, a timer is due, somebody wakes it, or the time is over.
    func poll(atMost limit: Duration) {
        _ = unsafe curl_multi_poll(pointer, nil, 0, max(1, Int32(limit / .milliseconds(1))), nil)
    }

    /// The transfers that have ended since this was last asked.
    func ended() -> [(handle: CurlHandle.ID, result: CURLcode)] {
        var ended: [(CurlHandle.ID, CURLcode)] = []
        var left: Int32 = 0
        while let message = unsafe curl_multi_info_read(pointer, &left) {
            guard unsafe message.pointee.msg == CURLMSG_DONE, let handle = unsafe message.pointee.easy_handle
            else { continue }
            unsafe ended.append((CurlHandle.ID(handle), message.pointee.data.result))
        }
        return ended
    }
}

/// libcurl as a whole, which is started once in a process.
enum CurlLibrary {
    /// Whether libcurl could be started; starts it when first asked.
    static let isUsable: Bool = {
        ccurl_forbid_exit_handler()
        return curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK
    }()

    /// Whether the file of trusted authorities that libcurl was built with is there.
    static let hasAuthoritiesFile: Bool = {
        guard let path = unsafe ccurl_authorities_file() else { return false }
        return unsafe access(path, R_OK) == 0
    }()
}
