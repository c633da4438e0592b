import VaultManifest
import VaultModel
import VaultStorage

// A failing origin may, even with status 200, send something other than the manifest, such as a truncated one, an empty
// one, or the text of an error.
extension Manifest {
    /// Parses a manifest, and requires that a player can use it. Blocks.
    ///
    /// - Parameters:
    ///   - bytes: the manifest's text.
    ///   - kind: the kind of manifest to parse.
    ///   - url: the URL of the resource, for the error's message.
    ///   - base: the URL to which the manifest's references are relative.
    ///   - variables: the variables that the playlist naming this one defines.
    ///   - limits: the limits that the manifest must keep to.
    /// - Throws: ``VaultError`` with code `invalidResponse` if the manifest cannot be used, or names nothing.
    static func usable(
        _ bytes: [UInt8], _ kind: ManifestKind, of url: MediaURL, at base: MediaURL, variables: [String: String] = [:],
        limits: ManifestLimits
    ) throws(VaultError) -> Manifest {
        do throws(ManifestError) {
            let manifest = try Manifest(bytes, kind: kind, url: base, variables: variables, limits: limits)
            // A broadcast may not have begun, so its manifest may still be empty.
            guard manifest.isLive || manifest.namesSomething else { throw .namesNothing }
            return manifest
        } catch {
            throw unusable(url, error)
        }
    }

    static func unusable(_ url: MediaURL, _ error: ManifestError) -> VaultError {
        VaultError(.invalidResponse, "\(url) is a playlist that cannot be used: \(error)")
    }
}

extension ResourceLoader {
    /// Whether the resource is a manifest that is completely held. It counts as a manifest if its type or path says so,
    /// or if it has the record of a title.
    var holdsManifest: Bool {
        let (isWhole, type) = look { ($0.isHeldWhole, $0.information?.type) }
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
    func forgetUnusable() -> Bool {
        change { state in state.mode.allowsRequests ? (true, state.forget()) : (false, Effects()) }
    }
}
