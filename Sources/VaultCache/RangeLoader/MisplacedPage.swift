import VaultFetch
import VaultManifest
package import VaultModel
import VaultStorage

/// Recognizes web pages that come with status 200 in place of media, such as a login page, a network's portal or an
/// error page.
extension ResourceLoader {
    /// The length of an AES-128 key in bytes.
    private static let keyBytes: Int64 = 16
    /// The maximum size, in bytes, of a held page whose content is examined.
    package static let maxPageBytes: Int64 = 64 << 10

    /// Returns the error for a page in place of media; nil if the representation is not a page.
    package func page(_ information: ContentInformation) -> VaultError? {
        // Many scripts that serve a key set no content type, so their answer is labelled as a page.
        guard let type = information.type, MediaType.isPage(type), information.length != Self.keyBytes else {
            return nil
        }
        return page(ofType: type)
    }

    /// Returns the error for content that cannot be played, such as an error or login page; nil for content that may be
    /// media.
    package func refusal(_ information: ContentInformation) -> VaultError? {
        guard let type = information.type, !MediaType.mayBeMedia(type),
            ManifestDetection.kind(type: type, path: url.path) == nil
        else { return nil }
        guard !MediaType.isPage(type) else { return page(ofType: type) }
        return VaultError(.notMedia, "\(url) is not media: its type is \(type)", hint: .anyType)
    }

    /// Returns the error for a page, judged by its first bytes; nil if the bytes do not begin a page.
    package func page(beginning bytes: [UInt8]) -> VaultError? {
        MediaType.beginsPage(bytes) ? page(ofType: "text/html") : nil
    }

    func page(ofType type: String) -> VaultError {
        VaultError(
            .notMedia,
            "\(url) is a web page, not media: its type is \(type); a login or the portal of a network may have sent it",
            hint: .anyType)
    }

    /// Returns how long a representation counts as current. A page at a media path never does, whatever its header
    /// fields say.
    func freshness(_ freshness: Freshness, of information: ContentInformation) -> Freshness {
        guard page(information) != nil, MediaType.guess(path: url.path) != nil else { return freshness }
        return Freshness(checked: freshness.checked, lifetime: 0, isStrict: freshness.isStrict)
    }
}

extension ResourceLoader {
    /// Whether the resource is a manifest that is completely held. It counts as a manifest if its type or path says so,
    /// or if it has the record of a title.
    var holdsManifest: Bool {
        let (isWhole, type) = look { ($0.known.isHeldWhole, $0.known.information?.type) }
        return isWhole && (record.title != nil || ManifestDetection.kind(type: type, path: url.path) != nil)
    }

    /// Returns whether an answer must not replace the held manifest.
    ///
    /// A live playlist never replaces the manifest of a fetched title, or a playlist of such a title, because what
    /// looks live may be a truncated playlist.
    ///
    /// - Parameters:
    ///   - body: the answer's body from the first byte on. It is peeked at as far as its end, but nothing is taken from
    ///     it.
    ///   - type: the answer's media type.
    func isUnusable(_ body: PeekableBody, ofType type: String?) async throws -> Bool {
        let (limits, seat) = (ManifestLimits.standard, ManifestSeat(in: manifestSemaphore))
        var wanted = ManifestSemaphore.smallBytes
        while try await body.peek(atLeast: wanted).count >= wanted {
            guard wanted <= limits.maxBytes, try await seat.mayTake(wanted + 1) else { return true }
            wanted = min(wanted * 2, limits.maxBytes + 1)
        }
        let bytes = try await body.peek(atLeast: 0)
        guard let kind = ManifestContent.kind(of: bytes) ?? ManifestDetection.kind(type: type, path: url.path) else {
            // Only the origin can know whether media have replaced the manifest.
            return !(type.map(MediaType.isKnownMedia) ?? false)
        }
        let (url, isOfTitle) = (url, record.title != nil || record.metadata?.partOf.isEmpty == false)
        return try await BlockingPool.manifests.run {
            guard let new = try? Manifest.usable(bytes, kind, of: url, at: url, limits: limits) else { return true }
            return isOfTitle && !new.isEnded
        }
    }

    /// Makes the next request ask the origin for the whole resource, because what is held is unusable.
    ///
    /// - Returns: false if the mode forbids requests.
    package func forgetUnusable() -> Bool {
        change { state in state.mode.allowsRequests ? (true, state.forget()) : (false, Effects()) }
    }
}
