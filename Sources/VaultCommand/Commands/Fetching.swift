import MediaVault
import VaultService

/// The download of one title, as the person at the terminal sees it.
struct Fetching: Sendable {
    let url: String
    /// Which of how many titles it is.
    let number: Int
    let count: Int
    let options: DownloadOptions
    /// Whether it is left to the service.
    let isDetached: Bool
    /// What a URL names.
    let reference: @Sendable (MediaURL) -> MediaReference

    /// Fetches it; what fails is said and recorded, so that the next has its turn.
    func run(in vault: any VaultOperator) async throws -> FetchedRecord {
        do {
            let reference = reference(try MediaURL(url))
            if isDetached {
                try await vault.beginDownload(reference, options)
            } else {
                try await download(reference, into: vault)
            }
            return FetchedRecord(url, try await vault.resource(reference))
        } catch let error as VaultError {
            try Task.checkCancellation()
            // What is held now counts, not what was told last; of a malformed URL nothing is.
            let document = try? await vault.resource(reference(MediaURL(url)))
            await Terminal.shared.say(error.message(ofURL: number, of: count) + Self.missing(document, after: error))
            return FetchedRecord(url, document, failed: error)
        }
    }

    /// Fetches what is missing, shows how it comes, and says where it turned out to be a list of media.
    private func download(_ reference: MediaReference, into vault: any VaultOperator) async throws {
        var display = ProgressDisplay(name(of: reference.url))
        var manifest: String?
        try await vault.download(reference, options) { step in
            manifest = step.manifest
            await display.show(TransferProgress(held: step.held, total: step.total))
        }
        await display.end()
        if let kind = manifest.flatMap(ManifestKind.init) {
            await Terminal.shared.say(
                "\(reference.url) is \(Self.called(kind)): only the list itself was fetched, not the media it names")
        }
    }

    /// How much an origin left open; what the store could not take is in its message already.
    private static func missing(_ document: ResourceDocument?, after error: VaultError) -> String {
        guard ExitStatus(error.code) == .origin, let document, let size = document.size.value, size > document.bytes
        else { return "" }
        return "; \(ByteCount.text(size - document.bytes)) of \(ByteCount.text(size)) are missing"
    }

    private static func called(_ manifest: ManifestKind) -> String {
        switch manifest {
        case .hls: "an HLS playlist"
        case .dash: "a DASH manifest"
        }
    }

    /// What a title is called while it comes: the last part of its path, and where it stands among several.
    private func name(of url: MediaURL) -> String {
        let name = url.path.split(separator: "/").last.map(String.init) ?? url.host
        return count > 1 ? "\(number)/\(count) \(name)" : name
    }
}
