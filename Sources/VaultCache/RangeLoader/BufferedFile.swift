import VaultFetch
package import VaultModel
import VaultStorage

/// A small file that was read entirely into memory, so that it can be stored together with others.
package struct BufferedFile: Sendable {
    package let bytes: [UInt8]
    package let information: ContentInformation
    package let freshness: Freshness
    /// The URL, fields and reach with which the file was requested.
    package let source: OriginURLs.Source

    package init(
        bytes: [UInt8], information: ContentInformation, freshness: Freshness, source: OriginURLs.Source
    ) {
        (self.bytes, self.information, self.freshness, self.source) = (bytes, information, freshness, source)
    }
}

extension BufferedFile {
    /// Fetches a file about which nothing is known yet, if it is small.
    ///
    /// - Parameters:
    ///   - loader: the loader of the file.
    ///   - limit: the maximum size of a small file in bytes.
    ///   - refusesPages: whether a web page is refused, whatever its size.
    ///   - taking: called with the number of bytes that have just arrived; may wait before more are taken.
    /// - Returns: the file; nil if it must be fetched like any other resource, for example because it is empty or
    ///   large, its length is unknown, a player is using it, or the origin's failure may be temporary. If the file is
    ///   large, the open answer is kept for the next request.
    /// - Throws: ``VaultError`` if the origin's refusal is final, or with code `notMedia` if the file is a web page and
    ///   `refusesPages` is set; `CancellationError`.
    package static func fetch(
        by loader: ResourceLoader, limit: Int64, refusingPages refusesPages: Bool, taking: (Int) async throws -> Void
    ) async throws -> BufferedFile? {
        guard loader.look(\.isUntouched), loader.store.isOwner else { return nil }
        let (origin, asked) = (loader.origin, loader.store.index.now())
        do {
            guard let (request, response) = try await origin.ask(for: { OriginRequest(url: $0, first: 0) }) else {
                return nil
            }
            origin.noteAnswer()
            let head = loader.heard(response.head)
            let content = try ResponseCheck.content(of: head, asked: request)
            let information = ResponseCheck.information(of: head, asked: request, content: content)
            if refusesPages, let page = loader.pages.page(information) {
                response.cancel()
                throw page
            }
            guard let length = content.wholeLength, (1...limit).contains(length) else {
                origin.keep(response, to: request)
                return nil
            }
            defer { response.cancel() }
            guard let bytes = try await body(of: response, length, by: loader, taking) else { return nil }
            if refusesPages, let page = loader.pages.page(beginning: bytes) { throw page }
            return BufferedFile(
                bytes: bytes, information: information,
                freshness: Freshness(head.fields, asked: asked),
                source: (request.url, origin.urls.current.fields, origin.urls.reach(of: request.url)))
        } catch let failure as OriginFailure {
            origin.note(failure)
            guard failure.isFinal else { return nil }
            throw FetchFailure.origin(failure).vaultError(for: loader.url, at: 0)
        }
    }

    /// Returns the body; nil if its length differs from the stated one, or if a player begins to use the resource.
    private static func body(
        of response: any OriginResponse, _ length: Int64, by loader: ResourceLoader,
        _ taking: (Int) async throws -> Void
    ) async throws -> [UInt8]? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Int(length))
        while let more = try await response.nextBytes() {
            guard Int64(bytes.count + more.count) <= length else { return nil }
            loader.store.countFetched(Int64(more.count))
            bytes += more
            try await taking(more.count)
            // If a player has begun to read through the loader, the rest of the download must go through it, too.
            guard loader.look(\.isUntouched) else { return nil }
        }
        return bytes.count == length ? bytes : nil
    }
}

extension ResponseContent {
    /// The length of a file that is sent whole; nil if only part of it is sent, or if the length is not stated.
    fileprivate var wholeLength: Int64? {
        switch self {
        case .whole(let length): length
        case .partial(let range, let total): range.lowerBound == 0 && range.upperBound == total ? total : nil
        case .unsatisfiable: nil
        }
    }
}
