import Testing
import VaultManifest
import VaultModel

/// A manifest that was led through a vault: each reference has a link of its own there.
struct LedManifest {
    /// Where the vault serves the manifest, and the folder of its links.
    static let url = "http://vault.example/media/link/index.m3u8"
    static let folder = "/media/led/"

    /// The references, in the order of their links.
    private(set) var references: [ManifestReference] = []
    /// What the player gets.
    let bytes: [UInt8]

    init(_ manifest: Manifest) {
        var references: [ManifestReference] = []
        bytes = manifest.rewritten { reference in
            references.append(reference)
            return "\(Self.folder)\(references.count)"
        }
        self.references = references
    }

    var text: String { String(decoding: bytes, as: UTF8.self) }

    /// The URLs of the references.
    var urls: [String] { references.map(\.url.absoluteString) }
}

extension LocalNames {
    /// Names for the files of a title that has what these references name.
    init(of references: [ManifestReference]) {
        self.init(of: Set(references.filter { $0.role != .data }.map(\.url)))
    }
}

extension HLSPlaylist {
    /// Parses a playlist of `https://origin.example/films/one/index.m3u8`.
    init(
        _ text: String, at url: String = "https://origin.example/films/one/index.m3u8",
        variables: [String: String] = [:], limits: ManifestLimits = .standard
    ) throws {
        try self.init(Array(text.utf8), url: MediaURL(url), variables: variables, limits: limits)
    }

    /// The playlist led through a vault.
    var led: LedManifest { LedManifest(.hls(self)) }

    /// The playlist as it stands.
    var text: String { String(decoding: rewritten { _ in nil }, as: UTF8.self) }
}
