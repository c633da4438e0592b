import VaultFetch
package import VaultModel

/// A small answer from an origin, read entirely into memory and never stored.
package struct BufferedAnswer: Sendable {
    package let bytes: [UInt8]
    /// The URL that answered.
    package let location: MediaURL
    /// The URL that permanently replaced the requested one; nil if none did.
    package let movedTo: MediaURL?
    /// The media type as the origin stated it; nil if it stated none.
    package let type: String?

    /// Why an answer was not read completely although the origin sent one.
    package enum Refusal: Error {
        case tooLarge
        case tooSlow
    }

    /// Sends a request and reads its answer, expanding compressed content.
    ///
    /// - Parameters:
    ///   - limit: the maximum size of the answer in bytes.
    ///   - time: the maximum time for the whole answer, however slowly its bytes arrive.
    /// - Throws: ``Refusal``, `OriginFailure`, `CancellationError`.
    package static func read(
        _ request: OriginRequest, upTo limit: Int, within time: Duration, from origin: any Origin
    ) async throws -> BufferedAnswer {
        try await withThrowingTaskGroup(of: BufferedAnswer?.self) { group in
            group.addTask { try await read(request, upTo: limit, from: origin) }
            group.addTask {
                try await Task.sleep(for: time)
                return nil
            }
            defer { group.cancelAll() }
            guard let answer = try await group.next() ?? nil else { throw Refusal.tooSlow }
            return answer
        }
    }

    private static func read(
        _ request: OriginRequest, upTo limit: Int, from origin: any Origin
    ) async throws -> BufferedAnswer {
        let response = try await origin.send(request)
        defer { response.cancel() }
        let content = try ResponseCheck.content(of: response.head, asked: request, takesGzip: true)
        guard content.length ?? 0 <= Int64(limit) else { throw Refusal.tooLarge }
        var bytes: [UInt8] = []
        while let more = try await response.nextBytes() {
            bytes += more
            guard bytes.count <= limit else { throw Refusal.tooLarge }
        }
        // Some origins state a content coding that their bytes do not use.
        if ResponseCheck.isGzip(response.head), Gzip.begins(bytes) { bytes = try expanded(bytes, upTo: limit) }
        return BufferedAnswer(
            bytes: bytes, location: response.head.location ?? request.url, movedTo: response.head.movedTo,
            type: response.head.fields["Content-Type"])
    }

    private static func expanded(_ bytes: [UInt8], upTo limit: Int) throws -> [UInt8] {
        do {
            return try Gzip.expanded(bytes, upTo: limit)
        } catch .tooLarge {
            throw Refusal.tooLarge
        } catch .damaged {
            throw OriginFailure(.invalidResponse, "the compressed content is damaged")
        }
    }
}
