import CCurl
import Foundation
package import VaultModel

/// One hop of a transfer as libcurl performs it: the handle, and the results of its callbacks so far.
///
/// libcurl calls back only while the loop's thread is inside `perform` or `resume`. The worker retains this object for
/// as long as the handle is in the multi handle.
final class CurlTransfer {
    /// The next step when libcurl has finished with a hop.
    enum Outcome {
        /// Send the same request to this URL.
        case follow(MediaURL)
        /// Send the request again, because the kept connection was not usable or the certificate's dates are needed.
        case again(Hop)
        /// End the transfer, successfully if there is no failure.
        case over(OriginFailure?)
    }

    /// The maximum number of bytes of a redirect's body that are read and dropped so that its connection can be kept.
    private static let maxDroppedBytes = 64 * 1024

    let transfer: Transfer
    let hop: Hop
    let handle: CurlHandle
    private let addresses: AddressGuard
    /// The proxy that forwards the request; nil if the request is sent directly to its host.
    private let proxy: ProxyAddress?
    /// The addresses that the hop may be sent to. Behind a proxy, nothing else is known about the response's source.
    private let reach: NetworkReach
    /// The credentials from the settings that are presented to the hop's host.
    private let credentials: HostCredentials
    private let connections: ConnectionNumbers
    /// Whether the settings allow only one address family.
    private let isOneFamily: Bool
    private var url: MediaURL { hop.url }
    private var parser = HeadParser()
    private var hasHead = false
    private var hasNews = false
    /// The redirect's target, once the redirect's head has arrived. The transfer does not wait for the body.
    private(set) var redirect: MediaURL?
    /// Whether ``redirect`` is permanent.
    private var isPermanent = false
    private var dropped = 0
    /// The sockets on which a connection was tried for this hop.
    ///
    /// libcurl tries several addresses at a time and closes all sockets but one. A closed socket's descriptor may since
    /// have been reused for another file.
    private var tried: [Int32] = []
    /// Whether the received bytes could be parsed as an HTTP head.
    private var hasReadHead = false
    /// The reason why a callback ended the transfer.
    private var failure: OriginFailure?
    /// The last time at which a head or a byte of the body arrived, or the reader resumed the transfer.
    private var silentSince = ContinuousClock.now
    private var isPaused = false

    init(
        _ transfer: Transfer, _ hop: Hop, _ configuration: CurlConfiguration, _ sockets: OpenSockets,
        _ connections: ConnectionNumbers
    ) throws(OriginFailure) {
        self.connections = connections
        self.transfer = transfer
        self.hop = hop
        let network = try configuration.network()
        isOneFamily = network.addressFamily != .any
        proxy = try configuration.environment.route(to: hop.url, network)
        reach = RedirectPolicy.reach(of: hop.url, named: transfer.request.url, transfer.request.reach)
        let policy = AddressPolicy(reach: reach, host: hop.url.host, proxy: proxy?.scheme, configuration)
        if let refusal = policy.refusal(ofProxied: hop.url) { throw refusal }
        addresses = AddressGuard(policy, sockets)
        credentials = HostCredentials(network, for: transfer.request, at: hop, now: configuration.now())
        var handle = try CurlHandle()
        let lines = transfer.fields.lines(for: hop.url, hasLeftOrigin: hop.hasLeftOrigin) + credentials.lines
        let cookies = lines.filter { $0.lowercased().hasPrefix(RequestFields.cookie) }
        try handle.set(fields: lines.filter { !cookies.contains($0) })
        try handle.keepCookies(hop.cookies)
        if hop.keepsDates { try handle.keepDates() }
        // A request has only one Cookie field, and libcurl adds the cookies that it keeps to these.
        if !cookies.isEmpty {
            let values = cookies.map { $0.dropFirst(RequestFields.cookie.count) }
            try handle.set(CURLOPT_COOKIE, values.joined(separator: "; "))
        }
        self.handle = handle
        try setTarget()
        try setTrust(configuration, network)
        try setRoute(network)
        try setBehavior(configuration, network)
        try setReceivers()
        try addresses.watch(self.handle)
    }

    /// Whether a proxy requests the URL itself instead of opening a tunnel. Its connections to the origin are then
    /// unknown, and the response may be the proxy's own.
    private var isForwarded: Bool { url.scheme == "http" && usesHTTPProxy }

    private var usesHTTPProxy: Bool { proxy?.scheme == .http || proxy?.scheme == .https }

    /// The hosts that received the request at private addresses or with credentials from the settings, on this hop and
    /// those before it; nil if that is unknown for any host because a proxy forwarded the request.
    private var privateHosts: Set<String>? {
        // Content that an origin sends for the operator's credentials is as private as content in a private network, so
        // no other site's manifest may use it.
        guard credentials.isEmpty else { return hop.privateHosts?.union([url.host]) }
        guard proxy != nil else { return addresses.isPrivate ? hop.privateHosts?.union([url.host]) : hop.privateHosts }
        guard ProxiedHost.mayBePublic(url.host) else { return hop.privateHosts?.union([url.host]) }
        return reach == .publicOnly ? hop.privateHosts : nil
    }

    /// Returns the hop to which a redirect from this hop leads.
    func nextHop(to target: MediaURL) -> Hop {
        hop.following(to: target, isPermanent: isPermanent, privateHosts: privateHosts, cookies: handle.cookies)
    }

    /// Wakes the reader if this hop has received something since the last call.
    func deliver() {
        guard hasNews else { return }
        hasNews = false
        transfer.deliver()
    }

    /// Returns the failure if the hop has been silent for `limit`; nil if it has not, or is waiting for its reader.
    ///
    /// libcurl's own low-speed limit cannot be less than one byte per second, but a slow origin may continue as long as
    /// it sends something. A head that arrives byte by byte does not count as progress.
    func stall(after limit: Duration, now: ContinuousClock.Instant) -> OriginFailure? {
        guard !isPaused, now - silentSince >= limit else { return nil }
        return CurlFailure.failure(CURLE_OPERATION_TIMEDOUT, headArrived: hasHead)
    }

    /// Resumes a paused transfer because the reader is taking bytes again.
    func resume() -> CURLcode {
        isPaused = false
        silentSince = .now
        return handle.resume()
    }

    /// Returns the next step after libcurl's result, given what the callbacks have received.
    func outcome(of result: CURLcode) -> Outcome {
        if let redirect { return .follow(redirect) }
        if addresses.isDirty, !hop.isOnFreshConnection { return .again(hop.onFreshConnection()) }
        if isOutdated(result), !hop.keepsDates { return .again(hop.keepingDates()) }
        let failure = failure(of: result)
        // Unsolicited bytes may have arrived just after the request was sent, so bytes that are not a head are not
        // blamed on the response.
        if failure?.kind == .invalidResponse, addresses.isReused, !hasReadHead {
            return .again(hop.onFreshConnection())
        }
        return .over(failure)
    }

    private func failure(of result: CURLcode) -> OriginFailure? {
        if let failure { return failure }
        guard result == CURLE_OK else {
            // The host may have other addresses that are allowed, so the refusal counts only if none of them responded.
            if let refusal = addresses.refusal, [CURLE_COULDNT_CONNECT, CURLE_ABORTED_BY_CALLBACK].contains(result) {
                return refusal
            }
            return proxyFailure(of: result) ?? trustFailure(of: result) ?? certificateFailure(of: result)
                ?? CurlFailure.failure(
                    result, headArrived: hasHead, isRefused: handle.wasRefused, hasRoute: !handle.lackedRoute,
                    isOneFamily: isOneFamily)
        }
        return hasHead ? nil : OriginFailure(.invalidResponse, "the response has no head")
    }

    private func proxyFailure(of result: CURLcode) -> OriginFailure? {
        guard proxy != nil, !hasHead else { return nil }
        let opensTunnel = url.scheme == "https" && usesHTTPProxy
        return CurlFailure.failure(
            ofProxy: result, tunnelStatus: opensTunnel ? handle.number(CURLINFO_HTTP_CONNECTCODE) : nil,
            isRefused: handle.wasRefused)
    }

    /// OpenSSL's verification results for the proxy's and the origin's certificates; 0 means trusted.
    private var verdicts: (proxy: Int, origin: Int) {
        (
            proxy?.scheme == .https ? handle.number(CURLINFO_PROXY_SSL_VERIFYRESULT) : 0,
            handle.number(CURLINFO_SSL_VERIFYRESULT)
        )
    }

    /// Returns whether a certificate was refused because it is not valid yet, or has expired, by this machine's clock.
    private func isOutdated(_ result: CURLcode) -> Bool {
        guard result == CURLE_PEER_FAILED_VERIFICATION else { return false }
        let verdict = verdicts.proxy != 0 ? verdicts.proxy : verdicts.origin
        return [CurlFailure.notYetValid, CurlFailure.hasExpired].contains(verdict)
    }

    private func trustFailure(of result: CURLcode) -> OriginFailure? {
        guard result == CURLE_PEER_FAILED_VERIFICATION else { return nil }
        let (verdicts, certificate) = (verdicts, handle.outdatedCertificate)
        let now = Timestamp(seconds: WallClock.now())
        return verdicts.proxy != 0
            ? CurlFailure.untrusted(verdicts.proxy, of: "the proxy's", certificate, now: now)
            : CurlFailure.untrusted(verdicts.origin, certificate, now: now)
    }

    private func certificateFailure(of result: CURLcode) -> OriginFailure? {
        guard url.scheme == "https", !hasHead else { return nil }
        return CurlFailure.failure(
            ofClientCertificate: result, message: handle.message, isPresented: credentials.certificate != nil)
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

    private func setTrust(
        _ configuration: CurlConfiguration, _ network: NetworkSettings
    ) throws(OriginFailure) {
        try handle.set(CURLOPT_SSL_VERIFYPEER, 1)
        try handle.set(CURLOPT_SSL_VERIFYHOST, 2)
        // If a directory of CA certificates is set as well, libcurl reads the file again for every connection, which
        // takes milliseconds and megabytes.
        let file = configuration.authorities ?? CurlLibrary.authoritiesFile
        let usesTLSToProxy = proxy?.scheme == .https
        if file != nil {
            try handle.clear(CURLOPT_CAPATH)
            if usesTLSToProxy { try handle.clear(CURLOPT_PROXY_CAPATH) }
        }
        if let authorities = configuration.authorities { try handle.set(CURLOPT_CAINFO, authorities) }
        if let certificate = credentials.certificate {
            // libcurl shares neither connections nor TLS sessions between requests with different client certificates.
            try handle.set(CURLOPT_SSLCERT_BLOB, Array(certificate.chain.utf8))
            try handle.set(CURLOPT_SSLKEY_BLOB, Array(certificate.key.utf8))
        }
        guard let added = network.authorities, url.scheme == "https" || usesTLSToProxy else { return }
        // The blob replaces the file, so it must contain the file's authorities too.
        let trusted = (file.flatMap { AuthorityFiles.bytes(of: $0) } ?? []) + [0x0A] + Array(added.pem.utf8)
        try handle.set(CURLOPT_CAINFO_BLOB, trusted)
        if usesTLSToProxy { try handle.set(CURLOPT_PROXY_CAINFO_BLOB, trusted) }
    }

    private func setRoute(_ network: NetworkSettings) throws(OriginFailure) {
        let family =
            switch network.addressFamily {
            case .any: CURL_IPRESOLVE_WHATEVER
            case .ipv4: CURL_IPRESOLVE_V4
            case .ipv6: CURL_IPRESOLVE_V6
            }
        try handle.set(CURLOPT_IPRESOLVE, Int(family))
        // If there is no proxy, the empty string keeps libcurl from reading the environment.
        try handle.set(CURLOPT_PROXY, proxy?.location ?? "")
        guard let proxy else { return }
        // The settings, not the environment variables, decide which hosts are contacted directly.
        try handle.set(CURLOPT_NOPROXY, "")
        if let user = proxy.user { try handle.set(CURLOPT_PROXYUSERNAME, user) }
        if let password = proxy.password { try handle.set(CURLOPT_PROXYPASSWORD, password) }
        // When a proxy opens a tunnel, the head of its response is not the origin's.
        try handle.set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
    }

    private func setBehavior(
        _ configuration: CurlConfiguration, _ network: NetworkSettings
    ) throws(OriginFailure) {
        try handle.set(CURLOPT_USERAGENT, network.userAgent ?? configuration.userAgent)
        try handle.set(CURLOPT_NOSIGNAL, 1)
        // Without this option, dropping a transfer during its name lookup would block all others until the lookup ends.
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

    // MARK: Callbacks of libcurl

    /// Receives a line of the head.
    ///
    /// - Returns: the number of bytes taken; if it is less than the line's length, libcurl ends the transfer.
    private func receive(line: UnsafeRawBufferPointer) -> Int {
        do throws(OriginFailure) {
            guard var head = unsafe try parser.read(line) else { return line.count }
            hasReadHead = true
            if head.status == 407, isForwarded { throw CurlFailure.proxyCredentials }
            switch try RedirectPolicy.decide(on: head, from: url, hops: hop.count) {
            case .follow(let target): (redirect, isPermanent) = (target, RedirectPolicy.isPermanent(head))
            case .deliver:
                hasHead = true
                hasNews = true
                silentSince = .now
                // The round-trip time is now known. A reused connection's window is already narrow.
                SocketWindow.narrow(tried, at: handle.localPort)
                head.location = hop.count > 0 ? url.withoutCredentials : nil
                head.movedTo = hop.movedTo?.withoutCredentials
                head.privateHosts = privateHosts
                head.connection =
                    isForwarded ? nil : connections.number(port: handle.localPort, isNew: !tried.isEmpty)
                transfer.receive(head: head)
            }
            return line.count
        } catch {
            failure = error
            return 0
        }
    }

    /// Receives bytes of the body.
    ///
    /// - Returns: the number of bytes taken, or the value that pauses the transfer; if fewer bytes are taken than were
    ///   given, libcurl ends the transfer.
    private func receive(body: Span<UInt8>) -> Int {
        guard redirect == nil else {
            dropped += body.count
            return dropped <= Self.maxDroppedBytes ? body.count : 0
        }
        guard hasHead else {
            failure = OriginFailure(.invalidResponse, "the response has no head")
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
    /// No response arrived, not even a refusal, so the network connection to the origin may be down for a while.
    package static let noResponse = OriginFailure(.unreachable, "no response in time")

    /// The failure for a response that would come from an address that the request may not be sent to.
    package static let privateAddress = OriginFailure(
        .invalidResponse, "it leads to a private address whose host is not in the setting allow-host")
}
