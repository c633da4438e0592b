import CCurl
import VaultModel

/// The credentials from the settings that are presented to the host of one hop: request header fields, including
/// cookies, and over TLS a certificate.
///
/// The credentials carry the operator's rights, which neither a manifest nor a redirect may use. So they are presented
/// only if the operator named the URL, and only at its host and port (or, from its port 80, at port 443 over TLS). They
/// are not presented after a redirect elsewhere, even if a later redirect leads back.
struct HostCredentials {
    /// The fields, except those that the request has itself.
    let fields: HeaderFields
    /// The client certificate; nil if there is none.
    let certificate: ClientCertificate?

    /// Selects the credentials for one hop of a request.
    ///
    /// - Parameter now: the time in seconds since 1970; expired cookies are left out.
    init(_ network: NetworkSettings, for request: OriginRequest, at hop: Hop, now: Int64) {
        guard request.reach == .anywhere, hop.isAtNamedHost else {
            (fields, certificate) = (HeaderFields(), nil)
            return
        }
        var fields = network.headers.fields(for: hop.url)
        // A request has only one Cookie field.
        if fields["Cookie"] == nil, let cookies = network.cookies?.value(for: hop.url, now: now) {
            fields.append(name: "Cookie", value: cookies)
        }
        // The request's own fields take precedence, even where a redirect withholds them. Otherwise, one user's request
        // could return another user's bytes.
        for field in request.fields.fields { fields = fields.without(field.name) }
        if request.url.hasCredentials { fields = fields.without("Authorization") }
        self.fields = fields
        certificate = hop.url.scheme == "https" ? network.clientCertificates.certificate(for: hop.url) : nil
    }

    /// Whether the settings add nothing to the request.
    var isEmpty: Bool { fields.fields.isEmpty && certificate == nil }

    /// The lines to send, in libcurl's spelling.
    var lines: [String] { fields.fields.map(RequestFields.line) }
}

extension CurlFailure {
    /// Returns the failure for an origin that refused or required a client certificate; nil if that is not the cause.
    ///
    /// - Parameters:
    ///   - message: libcurl's description of the failure. With TLS 1.3, an origin refuses after the handshake, and only
    ///     the alert in this text distinguishes the refusal from a lost connection.
    ///   - isPresented: whether the settings have a certificate for the host, so that it was presented.
    static func failure(ofClientCertificate code: CURLcode, message: String, isPresented: Bool) -> OriginFailure? {
        guard code != CURLE_SSL_CERTPROBLEM else {
            return OriginFailure(
                .unreachable, "the client certificate in the settings cannot be used, or its key does not belong to it",
                remedy: "correct the setting client-certificate")
        }
        let codes = [CURLE_SSL_CLIENTCERT, CURLE_SSL_CONNECT_ERROR, CURLE_RECV_ERROR, CURLE_SEND_ERROR]
        guard codes.contains(code) else { return nil }
        if isPresented, message.contains(" alert ") {
            return OriginFailure(
                .unreachable, "it refused the client certificate", remedy: "correct the setting client-certificate")
        }
        guard code == CURLE_SSL_CLIENTCERT || message.contains("alert certificate required") else { return nil }
        return OriginFailure(
            .unreachable, "it requires a client certificate", remedy: "add one to the setting client-certificate")
    }
}
