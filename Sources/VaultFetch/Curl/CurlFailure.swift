import CCurl
package import VaultModel

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
        case CURLE_WEIRD_SERVER_REPLY, CURLE_UNSUPPORTED_PROTOCOL: OriginFailure(.lied, "the answer is not HTTP")
        // libcurl reports a head line over 100 KiB as if its own memory had run out.
        case CURLE_OUT_OF_MEMORY where !headArrived: OriginFailure(.lied, "the head is too large to be read")
        default:
            OriginFailure(headArrived ? .interrupted : .unreachable, "the transfer failed (libcurl \(code.rawValue))")
        }
    }
}
