import VaultFetch
import VaultManifest
import VaultModel
import VaultStorage

/// Web pages that come with status 200 in place of media: a login, a network's portal, an error.
extension ResourceLoader {
    /// The length of an AES-128 key.
    private static let keyBytes: Int64 = 16
    /// The largest held page whose bytes are examined.
    static let maxPageBytes: Int64 = 64 << 10

    /// Returns the error for a page in place of media; nil if the representation is not a page.
    func page(_ information: ContentInformation) -> VaultError? {
        // Many scripts that serve a key set no type, so that the answer states the type of a page.
        guard let type = information.type, MediaType.isPage(type), information.length != Self.keyBytes else {
            return nil
        }
        return page(ofType: type)
    }

    /// Returns the error for what cannot be played, such as an error or login page; nil for what may be media.
    func refusal(_ information: ContentInformation) -> VaultError? {
        guard let type = information.type, !MediaType.mayBeMedia(type),
            ManifestDetection.kind(type: type, path: url.path) == nil
        else { return nil }
        guard !MediaType.isPage(type) else { return page(ofType: type) }
        return VaultError(.notMedia, "\(url) is not media: its type is \(type)", hint: .anyType)
    }

    /// Returns the error for a page, judged by its first bytes; nil if they do not begin a page.
    func page(beginning bytes: [UInt8]) -> VaultError? {
        MediaType.beginsPage(bytes) ? page(ofType: "text/html") : nil
    }

    func page(ofType type: String) -> VaultError {
        VaultError(
            .notMedia,
            "\(url) is a web page, not media: its type is \(type); a login or the portal of a network may have sent it",
            hint: .anyType)
    }

    /// Whether an answer's type shows that it must not replace what is held: a page in place of anything else, or a
    /// document in place of audio, video or an image.
    func isMisplaced(_ head: OriginHead, inPlaceOf known: ContentInformation) -> Bool {
        guard [200, 206].contains(head.status), let type = head.fields["Content-Type"], mayLose(known) else {
            return false
        }
        return MediaType.isPage(type)
            || (MediaType.isDocument(type) && known.type.map(MediaType.isKnownMedia) ?? false)
    }

    /// Waits for the first bytes of an answer that would replace what is held, so that
    /// ``isMisplaced(_:_:ofType:inPlaceOf:)`` does not keep other answers waiting for them.
    func awaitBeginning(of body: PeekableBody, _ head: OriginHead, asked: OriginRequest) async throws {
        guard let known, mayLose(known),
            let decision = try? ResponseCheck.judge(heard(head), asked: asked, known: knownRepresentation),
            case .changed(.whole) = decision
        else { return }
        _ = try await body.peek(atLeast: MediaType.pageBeginningByteCount)
    }

    /// Whether an answer's bytes show that it must not replace what is held, whatever its type: a page in place of
    /// anything else, or something other than a manifest in place of one.
    ///
    /// Waits for the bytes that show it, if they were to replace something.
    func isMisplaced(
        _ body: PeekableBody, _ content: ResponseContent, ofType type: String?, inPlaceOf known: ContentInformation
    ) async throws -> Bool {
        // Only an answer with the whole resource begins where a page does.
        guard case .whole = content, mayLose(known) else { return false }
        if MediaType.beginsPage(try await body.peek(atLeast: MediaType.pageBeginningByteCount)) { return true }
        guard holdsManifest else { return false }
        return try await isUnusable(body, ofType: type)
    }

    /// Whether something is held that a page would replace.
    private func mayLose(_ known: ContentInformation) -> Bool {
        !(known.type.map(MediaType.isPage) ?? false) && !look(\.present.isEmpty)
    }

    /// Returns how long a representation counts as current: a page at a media path never does, whatever its fields say.
    func freshness(_ freshness: Freshness, of information: ContentInformation) -> Freshness {
        guard page(information) != nil, MediaType.guess(path: url.path) != nil else { return freshness }
        return Freshness(checked: freshness.checked, lifetime: 0, isStrict: freshness.isStrict)
    }
}

extension LoaderTable {
    /// Removes a resource that was only played, so that the next request asks its origin again.
    ///
    /// - Returns: false if it stays, because it was fetched or pinned, or is a file in a title's pack.
    func removeIfOnlyPlayed(_ resource: NamedResource, _ loader: ResourceLoader) async throws -> Bool {
        let (store, id) = (loader.store, resource.id)
        let isOnlyPlayed = try await loader.pool.run {
            try store.index.resource(id).map { $0.resourceClass == .cache && $0.place == nil } ?? true
        }
        guard isOnlyPlayed else { return false }
        do {
            _ = try await remove(resource) { store, id in try store.remove(id) }
        } catch let error as VaultError where error.code == .notHeld {
            // Nothing of it was stored; removing the loader makes it forget the rest.
            remove(id)
        }
        return true
    }
}

/// The body of an answer, whose first bytes can be peeked at before they are taken.
final class PeekableBody: Sendable {
    private let response: any OriginResponse
    /// The bytes that were peeked at but not taken yet.
    private let peeked = Locked<[UInt8]>([])

    init(_ response: any OriginResponse) { self.response = response }

    /// Returns the first bytes that were not taken yet: `count` or more, unless the body is shorter.
    func peek(atLeast count: Int) async throws -> [UInt8] {
        while peeked.withLock(\.count) < count, let bytes = try await response.nextBytes() {
            peeked.withLock { $0 += bytes }
        }
        return peeked.withLock(\.self)
    }

    /// Takes the next bytes; nil at the proper end of the body.
    func next() async throws -> [UInt8]? {
        let bytes = takePeeked()
        return bytes.isEmpty ? try await response.nextBytes() : bytes
    }

    /// Ends the transfer, and returns the bytes received but not taken.
    func end() -> [[UInt8]] { [takePeeked()].filter { !$0.isEmpty } + response.end() }

    private func takePeeked() -> [UInt8] {
        peeked.withLock { bytes in
            defer { bytes = [] }
            return bytes
        }
    }
}
