import CCurl
import Foundation
import VaultModel

#if canImport(Darwin)
import Darwin
#else
import Glibc
#endif

/// A libcurl transfer handle, which is freed when its owner is. Only the loop's thread uses it.
@safe struct CurlHandle: ~Copyable {
    /// Identifies a handle without giving access to it.
    struct ID: Hashable {
        private let address: UInt

        init(_ pointer: UnsafeMutableRawPointer) { address = UInt(bitPattern: pointer) }
    }

    /// The libcurl handle, which the multi handle borrows.
    let pointer: UnsafeMutableRawPointer
    private var fields: UnsafeMutablePointer<curl_slist>?
    /// The buffer into which libcurl writes its description of a failure.
    private let text: UnsafeMutablePointer<CChar>
    /// The memory for the dates of a certificate that OpenSSL refuses; nil unless ``keepDates()`` was called.
    private var outdated: UnsafeMutablePointer<ccurl_outdated>?

    init() throws(OriginFailure) {
        guard let pointer = unsafe curl_easy_init() else { throw Self.unusable }
        unsafe self.pointer = pointer
        unsafe text = .allocate(capacity: Int(CURL_ERROR_SIZE))
        unsafe text.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        // Without this buffer, only the result code would describe a failure.
        _ = unsafe ccurl_set_pointer(pointer, CURLOPT_ERRORBUFFER, text)
    }

    deinit {
        unsafe curl_easy_cleanup(pointer)
        unsafe curl_slist_free_all(fields)
        unsafe text.deallocate()
        unsafe outdated?.deallocate()
    }

    var id: ID { unsafe ID(pointer) }

    func set(_ option: CURLoption, _ value: Int) throws(OriginFailure) {
        try Self.check(unsafe ccurl_set_long(pointer, option, value))
    }

    func set(_ option: CURLoption, _ value: String) throws(OriginFailure) {
        try Self.check(unsafe ccurl_set_string(pointer, option, value))
    }

    func set(_ option: CURLoption, _ value: [UInt8]) throws(OriginFailure) {
        let result = unsafe value.withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress else { return CURLE_BAD_FUNCTION_ARGUMENT }
            return unsafe ccurl_set_bytes(pointer, option, start, bytes.count)
        }
        try Self.check(result)
    }

    /// Clears an option's built-in value.
    func clear(_ option: CURLoption) throws(OriginFailure) {
        try Self.check(unsafe ccurl_set_string(pointer, option, nil))
    }

    /// Sets the header lines. This function must be called only once.
    mutating func set(fields lines: [String]) throws(OriginFailure) {
        for line in lines {
            guard let longer = unsafe curl_slist_append(fields, line) else { throw Self.unusable }
            unsafe fields = longer
        }
        try Self.check(unsafe ccurl_set_list(pointer, CURLOPT_HTTPHEADER, fields))
    }

    /// Sets the callback that receives bytes of the head or of the body.
    func set(_ option: CURLoption, _ receiver: @escaping ccurl_receiver) throws(OriginFailure) {
        try Self.check(unsafe ccurl_set_receiver(pointer, option, receiver))
    }

    /// Sets the context that libcurl passes to a callback. `context` must outlive the handle's last use.
    func set(_ option: CURLoption, context: AnyObject) throws(OriginFailure) {
        try Self.check(unsafe ccurl_set_pointer(pointer, option, Unmanaged.passUnretained(context).toOpaque()))
    }

    /// Sets the callback for each socket on which a connection is attempted.
    func set(_ option: CURLoption, observer: @escaping ccurl_socket_observer) throws(OriginFailure) {
        try Self.check(unsafe ccurl_set_socket_observer(pointer, option, observer))
    }

    /// Sets the callback that opens a new connection's socket.
    func set(_ option: CURLoption, opener: @escaping ccurl_socket_opener) throws(OriginFailure) {
        try Self.check(unsafe ccurl_set_socket_opener(pointer, option, opener))
    }

    /// Sets the callback that libcurl calls before it sends the request.
    func set(_ option: CURLoption, requestGuard: @escaping ccurl_request_guard) throws(OriginFailure) {
        try Self.check(unsafe ccurl_set_request_guard(pointer, option, requestGuard))
    }

    /// Whether the last connection attempt failed because no process listens at the address and port.
    var wasRefused: Bool { number(CURLINFO_OS_ERRNO) == Int(ECONNREFUSED) }

    /// Whether the last connection attempt failed because the system has no route to the address; often, this machine
    /// has no address of that family.
    var lackedRoute: Bool {
        [ENETUNREACH, EHOSTUNREACH, EAFNOSUPPORT, EADDRNOTAVAIL].contains { Int($0) == number(CURLINFO_OS_ERRNO) }
    }

    /// libcurl's description of the failure. It must not appear in messages, because it may name hosts.
    var message: String { unsafe String(cString: text) }

    /// The local port of the transfer's connection; 0 before the transfer has one.
    var localPort: Int { number(CURLINFO_LOCAL_PORT) }

    /// Returns a number that libcurl reports for the transfer; 0 if it reports none.
    func number(_ info: CURLINFO) -> Int {
        var number = 0
        let result = unsafe ccurl_get_long(pointer, info, &number)
        return result == CURLE_OK ? number : 0
    }

    /// Makes libcurl keep the cookies that it receives, starting with the ones that ``cookies`` returned for another
    /// handle.
    func keepCookies(_ cookies: [String]) throws(OriginFailure) {
        try set(CURLOPT_COOKIEFILE, "")
        for cookie in cookies { try set(CURLOPT_COOKIELIST, cookie) }
    }

    /// The cookies that libcurl keeps, one per line, each bound to its host and path.
    var cookies: [String] {
        var list: UnsafeMutablePointer<curl_slist>?
        guard unsafe ccurl_get_list(pointer, CURLINFO_COOKIELIST, &list) == CURLE_OK else { return [] }
        defer { unsafe curl_slist_free_all(list) }
        var (lines, next): ([String], UnsafeMutablePointer<curl_slist>?) = unsafe ([], list)
        while let line = unsafe next {
            if let text = unsafe line.pointee.data { unsafe lines.append(String(cString: text)) }
            unsafe next = line.pointee.next
        }
        return lines
    }

    /// Makes OpenSSL store the dates of a certificate that it refuses because of them. No other transfer can use the
    /// connection afterwards, because the connection refers to this handle.
    mutating func keepDates() throws(OriginFailure) {
        try set(CURLOPT_FORBID_REUSE, 1)
        let outdated = UnsafeMutablePointer<ccurl_outdated>.allocate(capacity: 1)
        unsafe outdated.initialize(to: ccurl_outdated())
        unsafe self.outdated = outdated
        _ = unsafe ccurl_keep_outdated(pointer, outdated)
    }

    /// The certificate that was refused because of its dates; nil if none was, or if its dates were not stored.
    var outdatedCertificate: OutdatedCertificate? {
        guard let outdated = unsafe outdated?.pointee, outdated.is_known else { return nil }
        return OutdatedCertificate(
            isAuthority: outdated.depth > 0, begin: Timestamp(seconds: outdated.not_before),
            end: Timestamp(seconds: outdated.not_after))
    }

    /// Resumes a paused transfer. Before this function returns, libcurl may deliver the data that it kept.
    func resume() -> CURLcode {
        unsafe curl_easy_pause(pointer, CURLPAUSE_CONT)
    }

    private static func check(_ code: CURLcode) throws(OriginFailure) {
        guard code == CURLE_OK else { throw unusable }
    }

    static let unusable = OriginFailure(.unreachable, "libcurl could not prepare the request")
}

/// libcurl's multi handle, which runs many transfers on one thread. Other threads use it only through ``Waker``.
@safe struct CurlMulti: ~Copyable {
    /// Ends the wait in ``poll(atMost:)`` from another thread. It must not be used after the multi handle is freed.
    @safe struct Waker: @unchecked Sendable {  // libcurl allows curl_multi_wakeup, and no other call, from any thread
        fileprivate let pointer: UnsafeMutableRawPointer

        func wake() { _ = unsafe curl_multi_wakeup(pointer) }
    }

    private let pointer: UnsafeMutableRawPointer

    /// Creates a multi handle; nil if libcurl has no memory or no descriptors, or lacks a required option.
    init?() {
        guard CurlLibrary.isUsable, let pointer = unsafe curl_multi_init() else { return nil }
        // libcurl would buffer a paused stream on a shared connection, up to the stream's whole window.
        guard unsafe ccurl_multi_set_long(pointer, CURLMOPT_MAX_CONCURRENT_STREAMS, 1) == CURLM_OK else {
            _ = unsafe curl_multi_cleanup(pointer)
            return nil
        }
        unsafe self.pointer = pointer
    }

    deinit { _ = unsafe curl_multi_cleanup(pointer) }

    var waker: Waker { unsafe Waker(pointer: pointer) }

    /// Sets the maximum number of connections.
    ///
    /// Further transfers wait until a connection is free; before that, connections kept for later requests are closed.
    func bound(connections count: Int) {
        _ = unsafe ccurl_multi_set_long(pointer, CURLMOPT_MAX_TOTAL_CONNECTIONS, count)
    }

    func add(_ handle: borrowing CurlHandle) -> Bool {
        unsafe curl_multi_add_handle(pointer, handle.pointer) == CURLM_OK
    }

    /// Removes a transfer. If it is unfinished, libcurl closes its connection or its stream.
    func remove(_ handle: borrowing CurlHandle) {
        _ = unsafe curl_multi_remove_handle(pointer, handle.pointer)
    }

    /// Advances every transfer as far as possible without waiting.
    func perform() {
        var running: Int32 = 0
        _ = unsafe curl_multi_perform(pointer, &running)
    }

    /// Waits until a socket is ready, a timer is due, a ``Waker`` ends the wait, or the time limit is reached.
    func poll(atMost limit: Duration) {
        _ = unsafe curl_multi_poll(pointer, nil, 0, max(1, Int32(limit / .milliseconds(1))), nil)
    }

    /// Returns the transfers that have ended since the last call, with their results.
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

/// The system's CA certificate files. They are hundreds of kilobytes, so they are read once rather than for each
/// connection.
enum AuthorityFiles {
    private static let read = Locked<[String: [UInt8]]>([:])
    /// The maximum size of a file, in bytes. The CA certificate files of all systems together are smaller.
    private static let maxBytes = 16 << 20

    /// Returns a file's bytes; nil if the file cannot be read.
    static func bytes(of path: String) -> [UInt8]? {
        read.withLock { known in
            if let bytes = known[path] { return bytes }
            // On many systems, the path is a symbolic link.
            known[path] = WholeFile.bytes(of: path, atMost: maxBytes, followsLinks: true)
            return known[path]
        }
    }
}

/// The state of libcurl that is global to the process.
enum CurlLibrary {
    /// Whether libcurl could be initialized, which the first access to this property does.
    static let isUsable: Bool = {
        ccurl_forbid_exit_handler()
        return curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK
    }()

    /// The path of the CA certificate file that libcurl was built with; nil if the file is not readable.
    static let authoritiesFile: String? = {
        guard let path = unsafe ccurl_authorities_file() else { return nil }
        return unsafe access(path, R_OK) == 0 ? String(cString: path) : nil
    }()
}
