import MediaVaultTesting
import VaultModel

extension Fault {
    static let ofHeads = [
        Fault("throws for the status of an error", .passesOnEveryStatus) { request, inner in
            let response = try await inner.send(request)
            let status = response.head.status
            guard status < 500 else {
                throw OriginFailure(.refused(status: status, retryAfter: nil), "HTTP \(status)")
            }
            return response
        },
        Fault("drops Content-Range", .passesOnRangeAnswers) { request, inner in
            try await inner.send(request).changing { $0.fields = $0.fields.without("Content-Range") }
        },
        Fault("keeps the last of several fields, in lower case", .passesOnRepeatedFields) { request, inner in
            try await inner.send(request).changing { head in
                var last = HeaderFields()
                for name in Set(head.fields.fields.map { $0.name.lowercased() }) {
                    last.append(name: name, value: head.fields.values(name).last ?? "")
                }
                head.fields = last
            }
        },
        Fault("decodes gzip, and drops Content-Encoding", .passesOnContentCoding) { request, inner in
            let response = try await inner.send(request)
            guard response.head.fields["Content-Encoding"] == "gzip" else { return response }
            var head = response.head
            head.fields = head.fields.without("Content-Encoding").without("Content-Length")
            return FaultyResponse(
                response, head: head,
                next: {
                    guard let bytes = try await response.nextBytes() else { return nil }
                    return Gzip.begins(bytes) ? try Gzip.expanded(bytes, upTo: 1 << 20) : bytes
                })
        },
        Fault("adds the fields of interim answers", .skipsInterimAnswers) { request, inner in
            try await inner.send(request).changing { $0.fields.append(name: "X-Interim", value: "1") }
        },
        Fault("refuses a head of more than 50 fields", .readsLargeHeads) { request, inner in
            let response = try await inner.send(request)
            guard response.head.fields.fields.count <= 50 else {
                throw OriginFailure(.invalidResponse, "the head is too large")
            }
            return response
        },
        Fault("answers for a head that has no end", .boundsHeads) { request, inner in
            try await answering(200, inner, request) { $0.reason.hasPrefix("the response head") }
        },
    ]

    static let ofBodies = [
        Fault("fails when asked after the end", .readsEveryFraming) { request, inner in
            let (response, ends) = (try await inner.send(request), Memory(0))
            return FaultyResponse(
                response,
                next: {
                    if let bytes = try await response.nextBytes() { return bytes }
                    ends.update { $0 += 1 }
                    guard ends.update(\.self) > 1 else { return nil }
                    throw OriginFailure(.interrupted, "there is no more")
                })
        },
        Fault("waits for the body of a 304", .expectsNoBody) { request, inner in
            let response = try await inner.send(request)
            guard response.head.status == 304 else { return response }
            return FaultyResponse(response, next: { throw OriginFailure(.interrupted, "the body is missing") })
        },
        Fault("delivers more than the length", .stopsAtContentLength) { request, inner in
            let response = try await inner.send(request)
            return FaultyResponse(
                response,
                next: { try await response.nextBytes().map { $0 == Array("xy".utf8) ? $0 + Array("zz".utf8) : $0 } })
        },
        Fault("ends a short body as if it were complete", .reportsShortBodies) { request, inner in
            let response = try await inner.send(request)
            return FaultyResponse(
                response, next: { do { return try await response.nextBytes() } catch is OriginFailure { return nil } })
        },
        Fault("waits for full pieces", .deliversAsItArrives, isSilence: true) { request, inner in
            let response = try await inner.send(request)
            return FaultyResponse(
                response,
                next: {
                    var piece: [UInt8] = []
                    while piece.count < 60_000, let more = try await response.nextBytes() { piece += more }
                    return piece.isEmpty ? nil : piece
                })
        },
        Fault("delivers an empty piece", .boundsPieces) { request, inner in
            let (response, pieces) = (try await inner.send(request), Memory([[UInt8]()]))
            return FaultyResponse(
                response,
                next: {
                    if let piece = pieces.update({ $0.popLast() }) { return piece }
                    return try await response.nextBytes()
                })
        },
        Fault("reads ahead", .holdsBack) { request, inner in
            let response = try await inner.send(request)
            guard Int(response.head.fields["Content-Length"] ?? "") ?? 0 > 8 << 20 else { return response }
            let pieces = AsyncThrowingStream<[UInt8], any Error> { continuation in
                Task {
                    do {
                        while let bytes = try await response.nextBytes() { continuation.yield(bytes) }
                        continuation.finish()
                    } catch {
                        continuation.finish(throwing: error)
                    }
                }
            }
            return FaultyResponse(
                response,
                next: {
                    for try await piece in pieces { return piece }
                    return nil
                })
        },
        Fault("stands still while a body does", .servesSideBySide, isSilence: true) {
            [waiting = Memory<Set<String>>([])] request, inner in
            guard request.url.path == "/0" || waiting.update({ $0.contains(request.url.authority) }) else {
                return try await inner.send(request)
            }
            let isFirst = waiting.update { $0.insert(request.url.authority).inserted }
            guard !isFirst else { return try await inner.send(request) }
            try await Task.sleep(for: .seconds(3600))
            return try await inner.send(request)
        },
    ]
}
