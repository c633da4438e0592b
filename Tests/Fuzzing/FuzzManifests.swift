import Foundation
import VaultManifest
import VaultModel

/// What libFuzzer calls with each input: parses it as a playlist or, if `MEDIAVAULT_FUZZ=dash`, as an MPD, and stops the
/// program if a player of the rewritten manifest would ask anyone but the vault.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let bytes = unsafe Array(UnsafeBufferPointer(start: start, count: count))
    FuzzedManifest.check(bytes)
    return 0
}

enum FuzzedManifest {
    private static let kind: ManifestKind =
        ProcessInfo.processInfo.environment["MEDIAVAULT_FUZZ"] == "dash" ? .dash : .hls
    private static let vault = "vault.example"
    private static let origin = MediaURL(
        scheme: "https", host: "origin.example", port: nil, path: "/films/one/manifest", query: "session=s1")
    /// Where a player finds the manifest: the path mirrors that of the origin.
    private static let led = MediaURL(
        scheme: "http", host: vault, port: nil, path: "/d/m/https/origin.example/films/one/manifest", query: nil)
    private static let limits = {
        var limits = ManifestLimits()
        (limits.maxReferences, limits.maxBytes, limits.maxURLBytes) = (1000, 1 << 20, 4 << 20)
        return limits
    }()

    static func check(_ bytes: [UInt8]) {
        guard let manifest = try? Manifest(bytes, kind: kind, url: origin, limits: limits) else { return }
        check(manifest)
        for video in [RenditionSelection.Video.best, .worst, .all] {
            check(manifest.selecting(RenditionSelection(video: video, audio: .all, subtitles: .languages(["en"]))))
        }
        _ = (manifest.renditions, manifest.duration, manifest.window, manifest.title, manifest.exports)
    }

    private static func check(_ manifest: Manifest) {
        precondition(manifest.references.count <= limits.maxReferences)
        let rewritten = manifest.rewritten { reference in
            "http://\(vault)/d/l/\(reference.url.scheme)/\(reference.url.authority)\(reference.url.path)"
        }
        guard let again = try? Manifest(rewritten, kind: kind, url: led) else {
            preconditionFailure("what was written is refused")
        }
        let kept = again.rewritten { reference in
            precondition(reference.url.host == vault, "a player would ask \(reference.url.host)")
            return nil
        }
        precondition(kept == rewritten, "rewriting it again changes it")
        for reference in again.references { precondition(reference.url.host == vault) }
    }
}
