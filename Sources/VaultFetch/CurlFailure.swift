import CCurl
import VaultModel

/// Translates libcurl's result codes into failures.
enum CurlFailure {
    /// Returns the failure for one of libcurl's result codes.
    ///
    /// - Parameters:
    ///   - headArrived: whether the response's head had arrived.
    ///   - isRefused: whether the system reported that no process listens at the port.
    ///   - hasRoute: whether there is a route to the address; false if the system reported that there is none.
    ///   - isOneFamily: whether the settings allow only one address family.
    static func failure(
        _ code: CURLcode, headArrived: Bool, isRefused: Bool = false, hasRoute: Bool = true, isOneFamily: Bool = false
    ) -> OriginFailure {
        switch code {
        case CURLE_COULDNT_RESOLVE_HOST:
            OriginFailure(
                .unreachable, "host name not found",
                remedy: isOneFamily
                    ? "check the host in the URL, and the address family in the settings"
                    : "check the host in the URL, and this machine's network")
        case CURLE_COULDNT_CONNECT where !hasRoute:
            OriginFailure(
                .unreachable, "no route to its address",
                remedy: isOneFamily
                    ? "allow the other address family in the settings, or check this machine's network"
                    : "check this machine's network")
        case CURLE_COULDNT_CONNECT: OriginFailure(.unreachable, isRefused ? "connection refused" : "no connection")
        case CURLE_OPERATION_TIMEDOUT where headArrived: OriginFailure(.interrupted, "no data for too long")
        case CURLE_OPERATION_TIMEDOUT: .noResponse
        case CURLE_PEER_FAILED_VERIFICATION: OriginFailure(.unreachable, "its TLS certificate is not trusted")
        case CURLE_SSL_CONNECT_ERROR:
            OriginFailure(
                .unreachable, "TLS connection failed", remedy: "check whether the URL has the right scheme and port")
        case CURLE_SSL_CIPHER, CURLE_SSL_CERTPROBLEM, CURLE_SSL_ISSUER_ERROR,
            CURLE_SSL_INVALIDCERTSTATUS, CURLE_USE_SSL_FAILED:
            OriginFailure(.unreachable, "TLS connection failed")
        case CURLE_SSL_CACERT_BADFILE:
            OriginFailure(
                .unreachable, "the certificate authorities cannot be read", remedy: "check the setting ca-file")
        case CURLE_GOT_NOTHING: OriginFailure(.interrupted, "closed without a response")
        case CURLE_PARTIAL_FILE: OriginFailure(.interrupted, "the body ended too early")
        case CURLE_RECV_ERROR, CURLE_SEND_ERROR: OriginFailure(.interrupted, "connection lost")
        case CURLE_HTTP2, CURLE_HTTP2_STREAM: OriginFailure(.interrupted, "HTTP/2 stream error")
        case CURLE_WEIRD_SERVER_REPLY, CURLE_UNSUPPORTED_PROTOCOL:
            OriginFailure(.invalidResponse, "the response is not HTTP")
        // libcurl reports a head line longer than 100 KiB as if it had run out of memory.
        case CURLE_OUT_OF_MEMORY where !headArrived: OriginFailure(.invalidResponse, "the response head is too large")
        default:
            OriginFailure(headArrived ? .interrupted : .unreachable, "the transfer failed (libcurl \(code.rawValue))")
        }
    }

    /// Returns the failure for a certificate that is not trusted.
    ///
    /// - Parameters:
    ///   - result: OpenSSL's verification result.
    ///   - certificate: the certificate that was refused because of its dates, if they are known.
    ///   - now: the time of this machine's clock, which is as likely to be wrong as the certificate's dates, because a
    ///     machine without a battery starts in the past.
    static func untrusted(
        _ result: Int, of owner: String = "its", _ certificate: OutdatedCertificate? = nil, now: Timestamp
    ) -> OriginFailure {
        let subject = (certificate?.isAuthority == true ? "the authority of " : "") + "\(owner) TLS certificate"
        switch result {
        case notYetValid:
            let begin = certificate.map { "before \($0.begin)" } ?? "yet"
            return outdated("\(subject) is not valid \(begin)", now: now)
        case hasExpired:
            return outdated("\(subject) has expired" + (certificate.map { " at \($0.end)" } ?? ""), now: now)
        // The issuer was not found (2, 20, 21), or the chain ends in a self-signed certificate (18, 19).
        case 2, 18, 19, 20, 21:
            return OriginFailure(
                .unreachable,
                "\(owner) TLS certificate is from an authority that neither the system nor the setting ca-file lists",
                remedy: "add that authority to the setting, or have the certificate replaced")
        default:
            return OriginFailure(
                .unreachable, "\(owner) TLS certificate is not trusted", remedy: "have the certificate replaced")
        }
    }

    /// OpenSSL's results for a certificate that, by the clock, is not valid yet or has expired.
    static let (notYetValid, hasExpired) = (9, 10)

    private static func outdated(_ reason: String, now: Timestamp) -> OriginFailure {
        OriginFailure(
            .unreachable, "\(reason), and this machine's clock says \(now)",
            remedy: "set the clock if that is wrong, or have the certificate replaced")
    }
}

/// A certificate that was refused because of its dates.
struct OutdatedCertificate: Hashable, Sendable {
    /// Whether the certificate is not the peer's own, but that of an authority in its chain.
    var isAuthority = false
    /// The times at which the certificate's validity begins and ends.
    let begin, end: Timestamp
}
