import VaultFetch
import VaultManifest
import VaultModel
import VaultStorage

/// Recognizes web pages that come with status 200 in place of media, such as a login page, a network's portal or an
/// error page.
extension ResourceLoader {
    /// The length of an AES-128 key in bytes.
    private static let keyBytes: Int64 = 16
    /// The maximum size, in bytes, of a held page whose content is examined.
    static let maxPageBytes: Int64 = 64 << 10

    /// Returns the error for a page in place of media; nil if the representation is not a page.
    func page(_ information: ContentInformation) -> VaultError? {
        // Many scripts that serve a key set no content type, so their answer is labelled as a page.
        guard let type = information.type, MediaType.isPage(type), information.length != Self.keyBytes else {
            return nil
        }
        return page(ofType: type)
    }

    /// Returns the error for content that cannot be played, such as an error or login page; nil for content that may be
    /// media.
    func refusal(_ information: ContentInformation) -> VaultError? {
        guard let type = information.type, !MediaType.mayBeMedia(type),
            ManifestDetection.kind(type: type, path: url.path) == nil
        else { return nil }
        guard !MediaType.isPage(type) else { return page(ofType: type) }
        return VaultError(.notMedia, "\(url) is not media: its type is \(type)", hint: .anyType)
    }

    /// Returns the error for a page, judged by its first bytes; nil if the bytes do not begin a page.
    func page(beginning bytes: [UInt8]) -> VaultError? {
        MediaType.beginsPage(bytes) ? page(ofType: "text/html") : nil
    }

    func page(ofType type: String) -> VaultError {
        VaultError(
            .notMedia,
            "\(url) is a web page, not media: its type is \(type); a login or the portal of a network may have sent it",
            hint: .anyType)
    }

    /// Returns whether an answer's type shows that the answer must not replace what is held: a page in place of
    /// anything else, or a document in place of audio, video or an image.
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

    /// Returns whether an answer's bytes show that the answer must not replace what is held, whatever its type: a page
    /// in place of anything else, or something other than a manifest in place of a manifest.
    ///
    /// If the answer would replace something, this waits for the bytes that decide it.
    func isMisplaced(
        _ body: PeekableBody, _ content: ResponseContent, ofType type: String?, inPlaceOf known: ContentInformation
    ) async throws -> Bool {
        // Only an answer with the whole resource begins where a page would begin.
        guard case .whole = content, mayLose(known) else { return false }
        if MediaType.beginsPage(try await body.peek(atLeast: MediaType.pageBeginningByteCount)) { return true }
        guard holdsManifest else { return false }
        return try await isUnusable(body, ofType: type)
    }

    /// Returns whether anything is held that a page would replace.
    private func mayLose(_ known: ContentInformation) -> Bool {
        !(known.type.map(MediaType.isPage) ?? false) && !look(\.present.isEmpty)
    }

    /// Returns how long a representation counts as current. A page at a media path never does, whatever its header
    /// fields say.
    func freshness(_ freshness: Freshness, of information: ContentInformation) -> Freshness {
        guard page(information) != nil, MediaType.guess(path: url.path) != nil else { return freshness }
        return Freshness(checked: freshness.checked, lifetime: 0, isStrict: freshness.isStrict)
    }
}

extension LoaderTable {
    /// Removes a resource that was only played, so that the next request asks its origin again.
    ///
    /// - Returns: false if the resource stays, because it was fetched or pinned, or is a file in a title's pack.
    func removeIfOnlyPlayed(_ resource: NamedResource, _ loader: ResourceLoader) async throws -> Bool {
        let (store, id) = (loader.store, resource.id)
        let isOnlyPlayed = try await loader.pool.run {
            try store.index.resources.find(id).map { $0.resourceClass == .cache && $0.place == nil } ?? true
        }
        guard isOnlyPlayed else { return false }
        do {
            _ = try await remove(resource) { store, id in try store.resources.remove(id) }
        } catch let error as VaultError where error.code == .notHeld {
            // Nothing of the resource was stored. Removing its loader discards what else was known about it.
            remove(id)
        }
        return true
    }
}

/// An answer's body, whose first bytes can be peeked at before they are taken.
final class PeekableBody: Sendable {
    private let response: any OriginResponse
    /// The bytes that were peeked at but have not been taken yet.
    private let peeked = Locked<[UInt8]>([])

    init(_ response: any OriginResponse) { self.response = response }

    /// Returns the first bytes that have not been taken yet: at least `count` of them, unless the body is shorter.
    func peek(atLeast count: Int) async throws -> [UInt8] {
        while peeked.withLock(\.count) < count, let bytes = try await response.nextBytes() {
            peeked.withLock { $0 += bytes }
        }
        return peeked.withLock(\.self)
    }

    /// Takes and returns the next bytes; returns nil once the body has properly ended.
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
