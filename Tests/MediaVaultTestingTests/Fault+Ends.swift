import MediaVaultTesting
import VaultModel

extension Fault {
    static let ofFailures = [
        Fault("makes an empty answer out of a failure", .reportsMissingAnswers) { request, inner in
            try await answering(502, inner, request) { $0.kind == .unreachable || $0.kind == .interrupted }
        },
        Fault("takes another protocol for an interruption", .reportsInvalidHTTP) { request, inner in
            do {
                return try await inner.send(request)
            } catch let failure as OriginFailure where failure.reason == "the response is not HTTP" {
                throw OriginFailure(.interrupted, failure.reason)
            }
        },
        Fault("tries three times", .leavesRetriesToVault) { request, inner in
            for _ in 0..<2 {
                do {
                    return try await inner.send(request)
                } catch let failure as OriginFailure where failure.kind != .invalidResponse {}
            }
            return try await inner.send(request)
        },
        Fault("names the URL in its failures", .namesNoSecrets) { request, inner in
            do {
                return try await inner.send(request)
            } catch let failure as OriginFailure {
                throw OriginFailure(failure.kind, "\(failure.reason) at \(request.url.absoluteString)")
            }
        },
    ]

    static let ofEnds = [
        Fault("ignores its task's cancellation", .endsWithTask, isSilence: true) { request, inner in
            let task = Task { try await inner.send(request) }
            return try await task.value
        },
        Fault("does not end by cancel()", .endsWithCancel, isSilence: true) { request, inner in
            FaultyResponse(try await inner.send(request), onCancel: {})
        },
        Fault("holds on to its answers", .endsWithRelease, isSilence: true) {
            [answers = Memory<[any OriginResponse]>([])] request, inner in
            let response = try await inner.send(request)
            answers.update { $0.append(response) }
            return response
        },
        Fault("returns delivered bytes again at the end", .returnsUnreadBytes) { request, inner in
            let (response, last) = (try await inner.send(request), Memory<[UInt8]>([]))
            return FaultyResponse(
                response,
                next: {
                    let bytes = try await response.nextBytes()
                    last.update { $0 = bytes ?? [] }
                    return bytes
                }, onEnd: { [last.update(\.self)] + response.end() })
        },
    ]
}
