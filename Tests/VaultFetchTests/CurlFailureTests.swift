import CCurl
import Testing
import VaultModel

@testable import VaultFetch

@Suite("What libcurl's results mean")
struct CurlFailureTests {
    @Test("Each libcurl result becomes an error that the caller can act on")
    func table() {
        let rows: [(CURLcode, before: OriginFailure.Kind, after: OriginFailure.Kind)] = [
            (CURLE_COULDNT_RESOLVE_HOST, .unreachable, .unreachable),
            (CURLE_COULDNT_CONNECT, .unreachable, .unreachable),
            (CURLE_OPERATION_TIMEDOUT, .unreachable, .interrupted),
            (CURLE_SSL_CONNECT_ERROR, .unreachable, .unreachable),
            (CURLE_PEER_FAILED_VERIFICATION, .unreachable, .unreachable),
            (CURLE_GOT_NOTHING, .interrupted, .interrupted),
            (CURLE_PARTIAL_FILE, .interrupted, .interrupted),
            (CURLE_RECV_ERROR, .interrupted, .interrupted),
            (CURLE_SEND_ERROR, .interrupted, .interrupted),
            (CURLE_HTTP2, .interrupted, .interrupted),
            (CURLE_HTTP2_STREAM, .interrupted, .interrupted),
            (CURLE_WEIRD_SERVER_REPLY, .invalidResponse, .invalidResponse),
            (CURLE_UNSUPPORTED_PROTOCOL, .invalidResponse, .invalidResponse),
            (CURLE_OUT_OF_MEMORY, .invalidResponse, .interrupted),
            (CURLE_URL_MALFORMAT, .unreachable, .interrupted),
        ]
        for (code, before, after) in rows {
            #expect(CurlFailure.failure(code, headArrived: false).kind == before, "\(code)")
            #expect(CurlFailure.failure(code, headArrived: true).kind == after, "\(code)")
        }
    }

    @Test("A refused connection has its own error")
    func refused() {
        #expect(
            CurlFailure.failure(CURLE_COULDNT_CONNECT, headArrived: false, isRefused: true).reason
                == "connection refused")
    }

    @Test("What waiting does not cure has a remedy of its own")
    func remedies() {
        let (unknown, noRoute) = (CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_CONNECT)
        func remedy(_ code: CURLcode, hasRoute: Bool = true, isOneFamily: Bool = false) -> String? {
            CurlFailure.failure(code, headArrived: false, hasRoute: hasRoute, isOneFamily: isOneFamily).remedy
        }
        #expect(remedy(unknown)?.contains("host in the URL") == true)
        #expect(remedy(unknown)?.contains("family") == false)
        #expect(remedy(unknown, isOneFamily: true)?.contains("address family") == true)
        #expect(remedy(noRoute, hasRoute: false)?.contains("network") == true)
        #expect(remedy(noRoute, hasRoute: false, isOneFamily: true)?.contains("address family") == true)
        #expect(remedy(CURLE_SSL_CONNECT_ERROR)?.contains("scheme and port") == true)
        #expect(remedy(noRoute) == nil && remedy(CURLE_OPERATION_TIMEDOUT) == nil, "these may pass by themselves")
    }

    @Test(
        "A certificate that is not valid yet, or no more, may be the clock's fault: the sentence has both times",
        arguments: [
            (9, "yet", "before 1970-01-01T00:01:00Z"), (10, "has expired", "has expired at 1970-01-01T00:02:00Z"),
        ])
    func clock(_ result: Int, _ words: String, _ date: String) {
        let now = Timestamp(seconds: 0)
        let certificate = OutdatedCertificate(begin: Timestamp(seconds: 60), end: Timestamp(seconds: 120))
        for (known, words) in [(nil, words), (certificate, date)] {
            let failure = CurlFailure.untrusted(result, known, now: now)
            #expect(failure.reason.contains(words), "\(failure.reason)")
            #expect(failure.reason.hasSuffix(", and this machine's clock says 1970-01-01T00:00:00Z"))
            #expect(failure.remedy?.hasPrefix("set the clock") == true)
        }
        let authority = OutdatedCertificate(isAuthority: true, begin: certificate.begin, end: certificate.end)
        #expect(CurlFailure.untrusted(result, authority, now: now).reason.hasPrefix("the authority of its TLS"))
    }

    @Test("Every result has a reason of a few words")
    func reasons() {
        for number in 1..<UInt32(CURL_LAST.rawValue) {
            for headArrived in [false, true] {
                let reason = CurlFailure.failure(CURLcode(rawValue: number), headArrived: headArrived).reason
                #expect(!reason.isEmpty && reason.count < 50 && reason.last != ".")
            }
        }
    }
}
