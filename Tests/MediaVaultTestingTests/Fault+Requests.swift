import MediaVaultTesting
import VaultModel

extension Fault {
    static let ofRequests = [
        Fault("tidies the path", .sendsTarget) { request, inner in
            var tidy = request
            let url = request.url
            tidy.url = MediaURL(
                scheme: url.scheme, host: url.host, port: url.port, path: url.path.replacing("//", with: "/"),
                query: url.query)
            return try await inner.send(tidy)
        },
        Fault("ignores the range", .sendsRange) { request, inner in
            var whole = request
            (whole.first, whole.end) = (nil, nil)
            return try await inner.send(whole)
        },
        Fault("ignores the conditions", .sendsConditions) { request, inner in
            var plain = request
            plain.ifChangedFrom = nil
            return try await inner.send(plain)
        },
        Fault("drops the field Cookie", .sendsFields) { request, inner in
            var other = request
            other.fields = request.fields.without("Cookie")
            return try await inner.send(other)
        },
        Fault("keeps cookies", .keepsNoCookies) { [cookies = Memory<[String: String]>([:])] request, inner in
            var other = request
            let kept = cookies.update { $0[request.url.authority] }
            if let kept { other.fields.append(name: "Cookie", value: kept) }
            let response = try await inner.send(other)
            let cookie = response.head.fields["Set-Cookie"]
            cookies.update { $0[request.url.authority] = cookie }
            return response
        },
        Fault("answers from a cache", .keepsNoAnswers) { [answers = Memory<[String: [UInt8]]>([:])] request, inner in
            let url = "\(request.method) \(request.url.absoluteString)"
            let response = try await inner.send(request)
            guard response.head.fields["Cache-Control"] != nil else { return response }
            var bytes: [UInt8] = []
            while let more = try await response.nextBytes() { bytes += more }
            let body = Memory([answers.update { [bytes] in $0[url] ?? bytes }])
            answers.update { [bytes] in $0[url] = $0[url] ?? bytes }
            return FaultyResponse(response, next: { body.update { $0.popLast() } })
        },
    ]

    static let ofRedirects = [
        Fault("does not follow HEAD", .followsRedirects) { request, inner in
            let response = try await inner.send(request)
            let isLed = request.method == .head && response.head.location != nil
            return isLed ? FaultyResponse(status: 302) : response
        },
        Fault("takes the last redirect of a loop for an answer", .endsRedirectLoops) { request, inner in
            try await answering(508, inner, request) { $0.reason.hasSuffix("redirects") }
        },
        Fault("takes a redirect to a file for an answer", .refusesOtherSchemes) { request, inner in
            try await answering(302, inner, request) { $0.reason.hasPrefix("a redirect to something") }
        },
        Fault("reports what was asked in place of what answered", .reportsLocation) { request, inner in
            try await inner.send(request).changing { head in
                if head.location != nil { head.location = request.url }
            }
        },
        Fault("takes any redirect for a permanent one", .reportsPermanentMove) { request, inner in
            try await inner.send(request).changing { $0.movedTo = $0.location }
        },
        Fault("sends the request's own fields to another host", .keepsSecretsAtOrigin) { request, inner in
            let response = try await inner.send(request)
            guard let location = response.head.location, location.authority != request.url.authority else {
                return response
            }
            var other = request
            other.url = location
            return FaultyResponse(try await inner.send(other), head: response.head)
        },
        Fault("lets redirects lead to this machine", .staysInReach, otherHosts: ["127.0.0.1", "localhost"]),
        Fault("takes every host for public", .namesPrivateHosts) { request, inner in
            try await inner.send(request).changing { $0.privateHosts = [] }
        },
        Fault("has one number for all connections", .numbersConnections) { request, inner in
            try await inner.send(request).changing { $0.connection = 1 }
        },
    ]

    /// Sends a request, and makes an answer with a status out of some failures.
    static func answering(
        _ status: Int, _ inner: any Origin, _ request: OriginRequest, _ isSwallowed: (OriginFailure) -> Bool
    ) async throws -> any OriginResponse {
        do {
            return try await inner.send(request)
        } catch let failure as OriginFailure where isSwallowed(failure) {
            return FaultyResponse(status: status)
        }
    }
}
