import VaultManifest
import VaultModel
import VaultStorage

// A failing origin may send something else in place of a manifest with status 200, too: a truncated one, an empty one,
// the text of an error.
extension Manifest {
    /// Reads a manifest that a player can use. Blocks.
    ///
    /// - Parameters:
    ///   - url: the URL of the resource, which the error names.
    ///   - base: what its references are relative to.
    ///   - variables: the variables that the manifest that names it defines.
    /// - Throws: ``VaultError`` with code `invalidResponse` if it cannot be used, or names nothing.
    static func usable(
        _ bytes: [UInt8], _ kind: ManifestKind, of url: MediaURL, at base: MediaURL, variables: [String: String] = [:],
        limits: ManifestLimits
    ) throws(VaultError) -> Manifest {
        do throws(ManifestError) {
            let manifest = try Manifest(bytes, kind: kind, url: base, variables: variables, limits: limits)
            // A broadcast may not have begun.
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
    /// Whether a manifest is held whole, judged by its type, its path and the title's record.
    var holdsManifest: Bool {
        let (isWhole, type) = look { ($0.isHeldWhole, $0.information?.type) }
        return isWhole && (record.title != nil || ManifestDetection.kind(type: type, path: url.path) != nil)
    }

    /// Whether an answer must not replace the held manifest.
    ///
    /// No broadcast replaces a fetched title or a playlist of it, because the broadcast may be a truncated playlist.
    ///
    /// - Parameters:
    ///   - body: the answer's body, from the first byte on; it is peeked at to its end, and nothing is taken.
    ///   - type: the answer's type.
    func isUnusable(_ body: PeekableBody, ofType type: String?) async throws -> Bool {
        let (limits, seat) = (ManifestLimits.standard, ManifestSeat(in: manifestSemaphore))
        var wanted = ManifestSemaphore.smallBytes
        while try await body.peek(atLeast: wanted).count >= wanted {
            guard wanted <= limits.maxBytes, try await seat.mayTake(wanted + 1) else { return true }
            wanted = min(wanted * 2, limits.maxBytes + 1)
        }
        let bytes = try await body.peek(atLeast: 0)
        guard let kind = ManifestContent.kind(of: bytes) ?? ManifestDetection.kind(type: type, path: url.path) else {
            // Only the origin knows whether media have replaced the manifest.
            return !(type.map(MediaType.isKnownMedia) ?? false)
        }
        let (url, isOfTitle) = (url, record.title != nil || record.metadata?.partOf.isEmpty == false)
        return try await BlockingPool.manifests.run {
            guard let new = try? Manifest.usable(bytes, kind, of: url, at: url, limits: limits) else { return true }
            return isOfTitle && !new.isEnded
        }
    }

    /// Makes the next request ask the origin for everything, because what is held is unusable.
    ///
    /// - Returns: false if the mode forbids requests.
    func forgetUnusable() -> Bool {
        change { state in state.mode.allowsRequests ? (true, state.forget()) : (false, Effects()) }
    }
}
