import CCurl

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
