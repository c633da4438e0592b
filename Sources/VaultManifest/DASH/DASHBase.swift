import VaultModel

/// The URL that relative references are resolved against: the MPD's URL, changed by each `BaseURL` on the way down
/// (ISO/IEC 23009-1 §5.6).
struct DASHBase: Hashable, Sendable {
    /// The URL itself; nil if a `BaseURL` on the way down names nothing that can be requested.
    let url: MediaURL?

    /// The place that a reference leads to from this base.
    enum Target: Hashable, Sendable {
        /// A place below the base's folder, named by a relative reference. The reference is kept, because a player that
        /// got the base from the vault resolves it to a URL of the vault. The value is nil if the base has no URL.
        case inside(MediaURL?)
        /// A place elsewhere, or named by a path that leaves the folder. The reference must be routed through the
        /// vault.
        case outside(MediaURL)
        /// Nothing is requested, so the reference is kept (``ManifestTarget/inert``).
        case inert
        /// The reference could bypass the vault, so ``ManifestTarget/refusal`` is written instead.
        case refused

        /// The URL that a player would request; nil if there is none.
        var url: MediaURL? {
            switch self {
            case .inside(let url): url
            case .outside(let url): url
            case .inert, .refused: nil
            }
        }
    }

    /// The base's folder, which is its path up to the last slash.
    var folder: MediaURL? { url?.folder }

    /// Returns the base that results when a `BaseURL` is applied to this one.
    func descending(to reference: String) -> DASHBase { DASHBase(url: target(of: reference, .data).url) }

    /// Returns where a reference leads.
    func target(of reference: String, _ role: ManifestReference.Role) -> Target {
        // Browsers drop white space around a reference, so a scheme after a space is still recognized as a scheme.
        let text = Array(reference.trimmingSpace().utf8)[...]
        // An empty reference means the base itself, or nothing if there is no base.
        guard !text.isEmpty else { return .inside(url) }
        let isAbsolute = text.first == UInt8(ascii: "/") || URLReference.scheme(of: text) != nil
        // Without a base, a relative reference is resolved against a placeholder. No other URL is below that
        // placeholder.
        var resolver = URLResolver(url ?? Self.nowhere)
        switch ManifestTarget(text, role, &resolver) {
        case .inert: return .inert
        case .refused: return .refused
        case .url(let target):
            guard !isAbsolute, !Self.climbs(String(decoding: text, as: UTF8.self)),
                target.isBelow((url ?? Self.nowhere).folder)
            else {
                return url == nil && target.host == Self.nowhere.host ? .refused : .outside(target)
            }
            return .inside(url == nil ? nil : target)
        }
    }

    /// Returns whether a relative path leaves its folder at any point.
    ///
    /// At the origin, nothing is above the root, but in the vault's paths, other hosts are.
    static func climbs(_ reference: String) -> Bool {
        var depth = 0
        let path = reference.prefix { $0 != "?" && $0 != "#" }
        for segment in path.split(separator: "/") {
            switch segment.utf8.count > 6 ? "" : segment.lowercased().replacing("%2e", with: ".") {
            case ".": continue
            case "..": depth -= 1
            default: depth += 1
            }
            if depth < 0 { return true }
        }
        return false
    }

    private static let nowhere = MediaURL(
        scheme: "https", host: "nowhere.invalid", port: nil, path: "/nowhere/", query: nil)
}

/// The way in which a reference or a template is rewritten.
enum DASHOutcome: Hashable {
    case stays
    /// It is replaced with a link to this URL. For a template, the link leads to this folder, and the rest of the
    /// template follows.
    case linked(MediaURL)
    case refused

    init(_ target: DASHBase.Target) {
        switch target {
        case .inside, .inert: self = .stays
        case .outside(let url): self = .linked(url)
        case .refused: self = .refused
        }
    }

    /// Decides how to rewrite a template. It judges the template as filled for one Representation, because an id or a
    /// bit rate could lead elsewhere.
    init(
        _ template: DASHTemplate, filledWith values: DASHTemplate.Values, at base: DASHBase,
        _ role: ManifestReference.Role
    ) {
        let filled = template.filled(values)
        self.init(base.target(of: filled, role))
        guard case .linked(let url) = self else { return }
        let folder = template.folder.isEmpty ? base.folder : base.target(of: String(template.folder), role).url
        let rest = String(filled.dropFirst(template.folder.count))
        guard let folder, folder.namesFolder, url.isBelow(folder), !DASHBase.climbs(rest) else {
            self = .refused
            return
        }
        self = .linked(folder.folder)
    }
}

extension MediaURL {
    /// The URL of the folder that contains the path, without a query.
    var folder: MediaURL {
        let end = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { path.utf8.index(after: $0) } ?? path.endIndex
        return MediaURL(
            scheme: scheme, host: host, port: port, path: String(path[..<end]), query: nil, userInfo: userInfo)
    }

    /// Whether the path ends in a slash.
    var namesFolder: Bool { path.utf8.last == UInt8(ascii: "/") }

    /// Returns whether the URL is a given folder, or is below it at the same origin.
    func isBelow(_ folder: MediaURL) -> Bool {
        origin == folder.origin && path.utf8.starts(with: folder.path.utf8)
    }
}
