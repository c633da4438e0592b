import VaultFetch
import VaultManifest
import VaultModel
import VaultStorage

/// Web pages that come with status 200 in place of media: a login, a network's portal, an error.
extension ResourceLoader {
    /// The length of an AES-128 key.
    private static let keyBytes: Int64 = 16
    /// The largest page whose bytes are looked at, once it is held.
    static let maxPageBytes: Int64 = 64 << 10

    /// Returns the error for a page in place of media; nil if a representation is none.
    func page(_ information: ContentInformation) -> VaultError? {
        // Many a script that gives a key states the type of a page, because it states none.
        guard let type = information.type, MediaType.isPage(type), information.length != Self.keyBytes else {
            return nil
        }
        return page(ofType: type)
    }

    /// Returns the error for what nobody plays, such as the page of an error or of a login; nil for what may be media.
    func refusal(_ information: ContentInformation) -> VaultError? {
        guard let type = information.type, !MediaType.mayBeMedia(type),
            ManifestDetection.kind(type: type, path: url.path) == nil
        else { return nil }
        guard !MediaType.isPage(type) else { return page(ofType: type) }
        return VaultError(.notMedia, "\(url) is not media: its type is \(type)", hint: .anyType)
    }

    /// Returns the same error for a page that its first bytes show; nil if they show none.
    func page(beginning bytes: [UInt8]) -> VaultError? {
        MediaType.beginsPage(bytes) ? page(ofType: "text/html") : nil
    }

    func page(ofType type: String) -> VaultError {
        VaultError(
            .notMedia,
            "\(url) is a web page, not media: its type is \(type); a login or the portal of a network may have sent it",
            hint: .anyType)
    }

    /// Whether the type of an answer shows that it came in place of what is held, which then stays: a page in place of
    /// anything else, or a document in place of audio, video or an image.
    func isMisplaced(_ head: OriginHead, inPlaceOf known: ContentInformation) -> Bool {
        guard [200, 206].contains(head.status), let type = head.fields["Content-Type"], mayLose(known) else {
            return false
        }
        return MediaType.isPage(type)
            || (MediaType.isDocument(type) && known.type.map(MediaType.isKnownMedia) ?? false)
    }

    /// Waits for the first bytes of an answer that would replace what is held, so that ``isMisplaced(_:_:ofType:inPlaceOf:)`` keeps
    /// no other answer waiting for them.
    func awaitBeginning(of body: PeekableBody, _ head: OriginHead, asked: OriginRequest) async throws {
        guard let known, mayLose(known),
            let decision = try? ResponseCheck.judge(heard(head), asked: asked, known: knownRepresentation),
            case .changed(.whole) = decision
        else { return }
        _ = try await body.peek(atLeast: MediaType.pageBeginningByteCount)
    }

    /// Whether the bytes of an answer show that it came in place of what is held, whatever its type says: a page in
    /// place of anything else, or what is no manifest in place of one.
    ///
    /// Waits for the bytes that show it, if they were to replace something.
    func isMisplaced(
        _ body: PeekableBody, _ content: ResponseContent, ofType type: String?, inPlaceOf known: ContentInformation
    ) async throws -> Bool {
        // Only the answer with the whole begins where a page does.
        guard case .whole = content, mayLose(known) else { return false }
        if MediaType.beginsPage(try await body.peek(atLeast: MediaType.pageBeginningByteCount)) { return true }
        guard holdsManifest else { return false }
        return try await isUnusable(body, ofType: type)
    }

    /// Whether something is held that a page would replace.
    private func mayLose(_ known: ContentInformation) -> Bool {
        !(known.type.map(MediaType.isPage) ?? false) && !look(\.present.isEmpty)
    }

    /// Returns how long a representation counts as current: a page at a path of media does not, whatever its fields say.
    func freshness(_ freshness: Freshness, of information: ContentInformation) -> Freshness {
        guard page(information) != nil, MediaType.guess(path: url.path) != nil else { return freshness }
        return Freshness(checked: freshness.checked, lifetime: 0, isStrict: freshness.isStrict)
    }
}

extension LoaderTable {
    /// Removes a resource that was played at most, so that the next request asks its origin again.
    ///
    /// - Returns: false if it stays, because it was fetched or pinned, or is a file in the pack of a title.
    func removeIfOnlyPlayed(_ resource: NamedResource, _ loader: ResourceLoader) async throws -> Bool {
        let (store, id) = (loader.store, resource.id)
        let isOnlyPlayed = try await loader.pool.run {
            try store.index.resource(id).map { $0.resourceClass == .cache && $0.place == nil } ?? true
        }
        guard isOnlyPlayed else { return false }
        do {
            _ = try await remove(resource) { store, id in try store.remove(id) }
        } catch let error as VaultError where error.code == .notHeld {
            // Nothing of it was stored; what the loader knows is forgotten with it.
            remove(id)
        }
        return true
    }
}

/// The body of an answer, whose first bytes can be looked at before they are taken.
final class PeekableBody: Sendable {
    private let response: any OriginResponse
    /// What was looked at, and not taken yet.
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

    /// Ends the transfer, and returns what was received and not taken.
    func end() -> [[UInt8]] { [takePeeked()].filter { !$0.isEmpty } + response.end() }

    private func takePeeked() -> [UInt8] {
        peeked.withLock { bytes in
            defer { bytes = [] }
            return bytes
        }
    }
}
