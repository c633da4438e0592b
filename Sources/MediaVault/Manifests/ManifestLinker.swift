import VaultManifest
import VaultModel

/// Decides which playback link replaces a reference in a manifest.
struct ManifestLinker: Sendable {
    /// A link, before its text is made.
    enum Link: Hashable {
        /// The capability of the manifest's own link opens it.
        case inScope
        /// A capability for the reference's folder: one for thousands of segments.
        case folder(Capability.Kind)
        /// A capability for this reference alone, as the principal.
        case target(Capability.Kind, principal: [UInt8])
    }

    /// What the manifest's own link opens.
    let scope: LinkScope
    /// The URL that the manifest came from: the link's URL, or where a redirect led from there.
    let base: MediaURL
    /// Whether a manifest or a redirect named the manifest.
    let isDerived: Bool
    /// The user for whom the manifest was requested from its origin; nil if no credentials were sent.
    let principal: [UInt8]?
    /// The variables that the manifest defines for the playlists that it names.
    var exports: PlaylistVariables?

    /// Returns the variables that the link to a reference carries: only playlists import any.
    func variables(for reference: ManifestReference) -> PlaylistVariables? {
        reference.role == .playlist ? exports : nil
    }

    /// Decides on one reference.
    func link(to reference: ManifestReference) -> Link {
        // The operator named the manifest's authority, and a web origin is its authority: so it may name its own
        // resources, wherever it is. The operator did not name anything else in the manifest, so that reaches only
        // public addresses or an allowed host. A manifest that was itself derived never leads further than that.
        guard reference.url.origin == base.origin, isNamed(base) else { return .folder(.derived) }
        let kind: Capability.Kind = isDerived ? .derived : .named
        // Credentials go only to the origin that they were given for, and only for resources that it names itself. A
        // folder is not a target: its link would send them for any URL that a player makes up.
        if let principal, !reference.isFolder, base.origin == scope.url.origin {
            return .target(kind, principal: principal)
        }
        guard let folder = scope.folder, reference.url.origin == scope.url.origin,
            reference.url.path.utf8.starts(with: folder.utf8),
            variables(for: reference).map({ $0.values == scope.variables }) ?? true
        else { return .folder(kind) }
        return .inScope
    }

    /// Whether a URL is at the authority that the link names, or at the same host over TLS.
    private func isNamed(_ url: MediaURL) -> Bool {
        url.origin == scope.url.origin || url.isUpgrade(of: scope.url)
    }

    /// Returns a reference relative to the manifest's own link; nil if it must be spelled from the root.
    ///
    /// A relative reference is far shorter than a link from the root, and one folder may hold thousands of segments.
    func relative(to url: MediaURL) -> String? {
        let own = scope.url.path.utf8
        guard let slash = own.lastIndex(of: UInt8(ascii: "/")) else { return nil }
        let folder = own[...slash]
        guard url.path.utf8.starts(with: folder) else { return nil }
        let rest = url.path.utf8.dropFirst(folder.count)
        // A first segment with a colon would be a scheme, and a leading slash the root (RFC 3986 section 4.2).
        guard let first = rest.first, first != UInt8(ascii: "/"),
            !rest.prefix(while: { $0 != UInt8(ascii: "/") }).contains(UInt8(ascii: ":"))
        else { return nil }
        return String(Substring(rest)) + (url.query.map { "?\($0)" } ?? "")
    }
}

extension MediaURL {
    /// The URL as a manifest may contain it: the request with the link must name exactly what the capability is for.
    fileprivate var escaped: MediaURL {
        let (path, query) = (PercentEncoding.escapingIllegal(path), query.map(PercentEncoding.escapingIllegal))
        guard path != self.path || query != self.query else { return self }
        return MediaURL(scheme: scheme, host: host, port: port, path: path, query: query)
    }
}

/// Writes the links of one manifest, with one capability for all references to a folder.
struct ManifestLinkWriter {
    private struct Folder: Hashable {
        let origin: String
        let path: String
        let kind: Capability.Kind
        let variables: PlaylistVariables?
    }

    private let linker: ManifestLinker
    private let tokens: TokenIssuer
    /// The text before the path of a link that is not relative.
    private let service: String
    /// Hides what the links lead to; nil if they may show it.
    private let hiding: HiddenLinks?
    private var capabilities: [Folder: String] = [:]
    /// What the links lead to.
    private(set) var names = PartOwners.Names()

    /// - Parameter service: scheme, host and port of the service; empty if a path from the root is enough.
    /// - Throws: ``VaultError`` with code `storage` if there is no memory for the key of hidden links.
    init(_ linker: ManifestLinker, _ tokens: TokenIssuer, service: String) throws {
        hiding = try linker.scope.hidden.map { _ in try HiddenLinks(tokens.keyring) }
        self.linker = linker
        self.tokens = tokens
        self.service = service
    }

    /// Returns the link for a reference: its path and query on this service, with the origin's path byte for byte.
    mutating func text(for reference: ManifestReference) -> String {
        let url = reference.url.escaped
        names.insert(url, isFolder: reference.isFolder)
        if let hiding, let hidden = linker.scope.hidden {
            // A playlist may be an MPD, whose segments are found relative to it.
            let leadsOn = reference.isFolder || reference.role == .playlist
            return service + hiding.path(for: target(reference, url), hidden, leadsOn: leadsOn)
        }
        if linker.link(to: reference) == .inScope, let relative = linker.relative(to: url) { return relative }
        return service + target(reference, url)
    }

    /// Records that the folder of a reference belongs to the title.
    mutating func noteFolder(of reference: ManifestReference) {
        let url = reference.url.escaped
        let end = url.path.utf8.lastIndex(of: UInt8(ascii: "/")) ?? url.path.startIndex
        let folder = MediaURL(
            scheme: url.scheme, host: url.host, port: url.port, path: String(url.path[...end]), query: nil)
        names.insert(folder, isFolder: true)
    }

    private mutating func target(_ reference: ManifestReference, _ url: MediaURL) -> String {
        let variables = linker.variables(for: reference)
        switch linker.link(to: reference) {
        case .inScope: return tokens.path(of: url, linker.scope.capability ?? capability(for: url, .derived, nil))
        case .folder(let kind): return tokens.path(of: url, capability(for: url, kind, variables))
        case .target(let kind, let principal):
            let name = CapabilityName(contentID: nil, principal: principal)
            let capability = tokens.capability(
                for: url, kind, name: name, isForPath: true, expires: linker.scope.expires, variables: variables,
                grant: linker.scope.grant)
            return tokens.path(of: url, capability)
        }
    }

    private mutating func capability(
        for url: MediaURL, _ kind: Capability.Kind, _ variables: PlaylistVariables?
    ) -> String {
        let end = url.path.utf8.lastIndex(of: UInt8(ascii: "/")) ?? url.path.startIndex
        let folder = Folder(origin: url.origin, path: String(url.path[..<end]), kind: kind, variables: variables)
        if let known = capabilities[folder] { return known }
        let made = tokens.capability(
            for: url, kind, name: nil, isForPath: false, expires: linker.scope.expires, variables: variables,
            grant: linker.scope.grant)
        capabilities[folder] = made
        return made
    }
}
