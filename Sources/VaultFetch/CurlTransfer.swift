import CCurl
package import VaultModel

/// One hop of a transfer, as libcurl carries it out: the handle, and what its callbacks have found so far.
///
/// libcurl calls back only while the loop's thread is inside `perform` or `resume`, and the worker holds this object
/// for as long as the handle is in the multi handle.
final class CurlTransfer {
    /// What follows when libcurl is done.
    enum Outcome {
        /// The same request is sent there.
        case follow(MediaURL)
        /// The request is sent once more, on a connection of its own: the kept one was not fit for it.
        case again
        /// The transfer ends: with nil properly.
        case over(OriginFailure?)
    }

    /// The most bytes of a redirect's body that are read and dropped to keep its connection.
    private static let mostDropped = 64 * 1024

    let transfer: Transfer
    let hop: Hop
    let handle: CurlHandle
    private let addresses: AddressGuard
    private let connections: ConnectionNumbers
    private var url: MediaURL { hop.url }
    private var parser = HeadParser()
    private var hasHead = false
    private var hasNews = false
    /// Where the head leads, once it has come. Its body is not waited for.
    private(set) var redirect: MediaURL?
    private var dropped = 0
    /// The sockets on which a connection was tried for this hop. libcurl tries several addresses at a time, and closes all
    /// but one: what it has closed may be anybody's by now.
    private var tried: [Int32] = []
    /// Whether what came could be read as a head of HTTP.
    private var hasReadHead = false
    /// Why a callback broke the transfer off.
    private var failure: OriginFailure?
    /// Since when nothing has come that counts: the head, or a byte of the body.
    private var silentSince = ContinuousClock.now
    private var isPaused = false

    init(
        _ transfer: Transfer, _ hop: Hop, _ configuration: CurlConfiguration, _ sockets: OpenSockets,
        _ connections: ConnectionNumbers
    ) throws(OriginFailure) {
        self.connections = connections
        self.transfer = transfer
        self.hop = hop
        addresses = AddressGuard(
            AddressPolicy(
                reach: RedirectPolicy.reach(of: hop.url, named: transfer.request.url, transfer.request.reach),
                host: hop.url.host, configuration), sockets)
        var handle = try CurlHandle()
        try handle.set(fields: transfer.fields.lines(for: hop.url, hasLeft: hop.hasLeft))
        self.handle = handle
        try setTarget()
        try setTrust(configuration)
        try setConduct(configuration)
        try setReceivers()
        try addresses.watch(self.handle)
    }

    /// Wakes the reader where this hop has brought something since it was last asked.
    func deliver() {
        guard hasNews else { return }
        hasNews = false
        transfer.deliver()
    }

    /// What a hop has become guilty of that has been silent for so long; nil where it has not, or waits for its reader.
    ///
    /// libcurl's own low-speed rule knows no speed below a byte a second, and a slow origin that goes on may go on. A
    /// head that drips in is none.
    func stall(after limit: Duration, now: ContinuousClock.Instant) -> OriginFailure? {
        guard !isPaused, now - silentSince >= limit else { return nil }
        return CurlFailure.failure(CURLE_OPERATION_TIMEDOUT, headArrived: hasHead)
    }

    /// The reader takes bytes again.
    func resume() -> CURLcode {
        isPaused = false
        silentSince = .now
        return handle.resume()
    }

    /// What libcurl's result means after all that the callbacks have seen.
    func outcome(of result: CURLcode) -> Outcome {
        if let redirect { return .follow(redirect) }
        if addresses.isDirty, !hop.isOnFreshConnection { return .again }
        let failure = failure(of: result)
        // What was not asked for may have come just behind the request: what is no head is not held against the answer.
        if failure?.kind == .invalidResponse, addresses.isReused, !hasReadHead { return .again }
        return .over(failure)
    }

    private func failure(of result: CURLcode) -> OriginFailure? {
        if let failure { return failure }
        guard result == CURLE_OK else {
            // A host may have other addresses that are allowed; only where none of them answered the refusal counts.
            if let refusal = addresses.refusal, [CURLE_COULDNT_CONNECT, CURLE_ABORTED_BY_CALLBACK].contains(result) {
                return refusal
            }
            return CurlFailure.failure(result, headArrived: hasHead, isRefused: handle.wasRefused)
        }
        return hasHead ? nil : OriginFailure(.invalidResponse, "the answer has no head")
    }

    // MARK: Setting up

    private func setTarget() throws(OriginFailure) {
        try handle.set(CURLOPT_URL, url.absoluteString)
        try handle.set(CURLOPT_PATH_AS_IS, 1)
        try handle.set(transfer.request.method == .head ? CURLOPT_NOBODY : CURLOPT_HTTPGET, 1)
        try handle.set(CURLOPT_PROTOCOLS_STR, "http,https")
        try handle.set(CURLOPT_FOLLOWLOCATION, 0)
        try handle.set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS)
        if hop.isOnFreshConnection { try handle.set(CURLOPT_FRESH_CONNECT, 1) }
    }

    private func setTrust(_ configuration: CurlConfiguration) throws(OriginFailure) {
        try handle.set(CURLOPT_SSL_VERIFYPEER, 1)
        try handle.set(CURLOPT_SSL_VERIFYHOST, 2)
        // Beside a folder of authorities libcurl reads their file anew for every connection: milliseconds, and megabytes.
        if configuration.authorities != nil || CurlLibrary.hasAuthoritiesFile { try handle.clear(CURLOPT_CAPATH) }
        if let authorities = configuration.authorities { try handle.set(CURLOPT_CAINFO, authorities) }
    }

    private func setConduct(_ configuration: CurlConfiguration) throws(OriginFailure) {
        try handle.set(CURLOPT_USERAGENT, configuration.userAgent)
        // The environment's proxy variables are not ours to obey.
        try handle.set(CURLOPT_PROXY, "")
        try handle.set(CURLOPT_NOSIGNAL, 1)
        // Otherwise dropping a transfer whose host is still looked up would block all others until it is found.
        try handle.set(CURLOPT_QUICK_EXIT, 1)
        try handle.set(CURLOPT_BUFFERSIZE, BodyBuffer.blockSize)
        try handle.set(CURLOPT_CONNECTTIMEOUT_MS, max(1, Int(configuration.connectTimeout / .milliseconds(1))))
    }

    private func setReceivers() throws(OriginFailure) {
        try handle.set(CURLOPT_HEADERDATA, context: self)
        try unsafe handle.set(CURLOPT_HEADERFUNCTION) { bytes, _, count, context in
            guard let context = unsafe context else { return 0 }
            let line = unsafe UnsafeRawBufferPointer(start: bytes, count: count)
            return unsafe Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue().receive(line: line)
        }
        try handle.set(CURLOPT_SOCKOPTDATA, context: self)
        let observer: ccurl_socket_observer = { context, socket, _ in
            guard let context = unsafe context else { return CURL_SOCKOPT_OK }
            unsafe Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue().tried.append(socket)
            return CURL_SOCKOPT_OK
        }
        try unsafe handle.set(CURLOPT_SOCKOPTFUNCTION, observer: observer)
        try handle.set(CURLOPT_WRITEDATA, context: self)
        try unsafe handle.set(CURLOPT_WRITEFUNCTION) { bytes, _, count, context in
            guard let context = unsafe context else { return 0 }
            let body = unsafe UnsafeRawBufferPointer(start: bytes, count: count).assumingMemoryBound(to: UInt8.self)
            return unsafe Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue().receive(body: body.span)
        }
    }

    // MARK: What libcurl calls

    /// - Returns: the bytes taken; fewer than there are break the transfer off.
    private func receive(line: UnsafeRawBufferPointer) -> Int {
        do throws(OriginFailure) {
            guard var head = unsafe try parser.read(line) else { return line.count }
            hasReadHead = true
            switch try RedirectPolicy.decide(on: head, from: url, hops: hop.count) {
            case .follow(let target): redirect = target
            case .deliver:
                hasHead = true
                hasNews = true
                silentSince = .now
                // Now its round trip is known; a connection that is used again is narrow already.
                SocketWindow.narrow(tried, at: handle.localPort)
                head.connection = connections.number(port: handle.localPort, isNew: !tried.isEmpty)
                transfer.receive(head: head)
            }
            return line.count
        } catch {
            failure = error
            return 0
        }
    }

    /// - Returns: the bytes taken, or the sign to pause; fewer than there are break the transfer off.
    private func receive(body: Span<UInt8>) -> Int {
        guard redirect == nil else {
            dropped += body.count
            return dropped <= Self.mostDropped ? body.count : 0
        }
        guard hasHead else {
            failure = OriginFailure(.invalidResponse, "the answer has no head")
            return 0
        }
        switch transfer.receive(body) {
        case .taken:
            hasNews = true
            silentSince = .now
            return body.count
        case .paused:
            isPaused = true
            return Int(CURL_WRITEFUNC_PAUSE)
        case .unwanted: return 0
        }
    }
}

extension OriginFailure {
    /// Nothing was heard, not even a refusal: the origin may be there, behind a line that is down for a while.
    package static let noAnswer = OriginFailure(.unreachable, "no answer in time")
}

/// What libcurl's results mean to a caller.
enum CurlFailure {
    /// - Parameters:
    ///   - headArrived: whether the origin had begun to answer.
    ///   - isRefused: whether the system said that nobody listens at the port.
    static func failure(_ code: CURLcode, headArrived: Bool, isRefused: Bool = false) -> OriginFailure {
        switch code {
        case CURLE_COULDNT_RESOLVE_HOST: OriginFailure(.unreachable, "host name not found")
        case CURLE_COULDNT_CONNECT: OriginFailure(.unreachable, isRefused ? "connection refused" : "no connection")
        case CURLE_OPERATION_TIMEDOUT where headArrived: OriginFailure(.interrupted, "silent for too long")
        case CURLE_OPERATION_TIMEDOUT: .noAnswer
        case CURLE_PEER_FAILED_VERIFICATION: OriginFailure(.unreachable, "its TLS certificate is not to be trusted")
        case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CIPHER, CURLE_SSL_CERTPROBLEM, CURLE_SSL_ISSUER_ERROR,
            CURLE_SSL_CACERT_BADFILE, CURLE_SSL_INVALIDCERTSTATUS, CURLE_USE_SSL_FAILED:
            OriginFailure(.unreachable, "no TLS connection")
        case CURLE_GOT_NOTHING: OriginFailure(.interrupted, "closed without an answer")
        case CURLE_PARTIAL_FILE: OriginFailure(.interrupted, "cut short")
        case CURLE_RECV_ERROR, CURLE_SEND_ERROR: OriginFailure(.interrupted, "connection lost")
        case CURLE_HTTP2, CURLE_HTTP2_STREAM: OriginFailure(.interrupted, "HTTP/2 stream broken off")
        case CURLE_WEIRD_SERVER_REPLY, CURLE_UNSUPPORTED_PROTOCOL: OriginFailure(.invalidResponse, "the answer is not HTTP")
        // libcurl reports a head line over 100 KiB as if its own memory had run out.
        case CURLE_OUT_OF_MEMORY where !headArrived: OriginFailure(.invalidResponse, "the head is too large to be read")
        default:
            OriginFailure(headArrived ? .interrupted : .unreachable, "the transfer failed (libcurl \(code.rawValue))")
        }
    }
}

/// Where one hop of a transfer goes, and what the hops before it have come to.
struct Hop {
    let url: MediaURL
    /// The redirects followed before.
    private(set) var count = 0
    /// Whether a redirect has led to another origin. What was given for the first one stays behind, even where a later
    /// redirect leads back: who sent it there is another.
    private(set) var hasLeft = false
    /// Whether no kept connection is used for it.
    private(set) var isOnFreshConnection = false

    init(_ url: MediaURL) { self.url = url }

    /// The hop that a redirect leads to.
    func following(to target: MediaURL) -> Hop {
        var next = Hop(target)
        next.count = count + 1
        next.hasLeft = hasLeft || (target.scheme, target.host) != (url.scheme, url.host)
            || target.effectivePort != url.effectivePort
        return next
    }

    /// The same hop once more, on a connection of its own.
    func onFreshConnection() -> Hop {
        var again = self
        again.isOnFreshConnection = true
        return again
    }
}
