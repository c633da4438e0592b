import VaultCache
import VaultManifest
import VaultModel

/// Decides which kind of playback link replaces a reference in a manifest.
struct ManifestLinker: Sendable {
    /// A kind of link, decided before the link's text is written.
    enum Link: Hashable {
        /// A link that is opened by the capability of the manifest's own link.
        case inScope
        /// A link with a capability for the reference's folder, so that one capability suffices for thousands of
        /// segments.
        case folder(Capability.Kind)
        /// A link with a capability for this reference alone, which acts as the principal.
        case target(Capability.Kind, principal: [UInt8])
    }

    /// What the manifest's own link opens.
    let scope: LinkScope
    /// The URL that the manifest came from: the link's URL, or the URL to which a redirect led from there.
    let base: MediaURL
    /// Whether another manifest or a redirect, rather than the operator, named the manifest.
    let isDerived: Bool
    /// The user for whom the manifest was requested from its origin; nil if no credentials were sent.
    let principal: [UInt8]?
    /// The variables that the manifest defines for the playlists it names.
    var exports: PlaylistVariables?

    /// Returns the variables that the link to a reference carries; nil unless the reference is a playlist, because
    /// nothing else imports variables.
    func variables(for reference: ManifestReference) -> PlaylistVariables? {
        reference.role == .playlist ? exports : nil
    }

    /// Returns the kind of link that replaces a reference.
    func link(to reference: ManifestReference) -> Link {
        // The operator named the manifest's authority, and a web origin is its own authority, so the manifest may name
        // resources of that origin wherever it is. The operator did not name anything else in the manifest, so any
        // other link reaches only public addresses or an allowed host. A manifest that is itself derived never reaches
        // further than that.
        guard reference.url.origin == base.origin, isNamed(base) else { return .folder(.derived) }
        let kind: Capability.Kind = isDerived ? .derived : .named
        // Credentials are sent only to the origin for which they were given, and only for resources that the manifest
        // names itself. A folder is not such a resource, because a link to it would send them for any URL that a player
        // constructs.
        if let principal, !reference.isFolder, base.origin == scope.url.origin {
            return .target(kind, principal: principal)
        }
        guard let folder = scope.folder, reference.url.origin == scope.url.origin,
            reference.url.path.utf8.starts(with: folder.utf8),
            variables(for: reference).map({ $0.values == scope.variables }) ?? true
        else { return .folder(kind) }
        return .inScope
    }

    /// Returns whether a URL is at the authority that the link names, or at the same host over TLS.
    private func isNamed(_ url: MediaURL) -> Bool {
        url.origin == scope.url.origin || url.isUpgrade(of: scope.url)
    }

    /// Returns a reference relative to the manifest's own link; nil if the reference must be written as a path from the
    /// root.
    ///
    /// A relative reference is far shorter than a link from the root, and one folder may hold thousands of segments.
    func relative(to url: MediaURL) -> String? {
        let own = scope.url.path.utf8
        guard let slash = own.lastIndex(of: UInt8(ascii: "/")) else { return nil }
        let folder = own[...slash]
        guard url.path.utf8.starts(with: folder) else { return nil }
        let rest = url.path.utf8.dropFirst(folder.count)
        // A first segment with a colon would be read as a scheme, and a leading slash as the root (RFC 3986 section
        // 4.2).
        guard let first = rest.first, first != UInt8(ascii: "/"),
            !rest.prefix(while: { $0 != UInt8(ascii: "/") }).contains(UInt8(ascii: ":"))
        else { return nil }
        return String(Substring(rest)) + (url.query.map { "?\($0)" } ?? "")
    }
}

extension MediaURL {
    /// The URL in the form in which a manifest may contain it. A request through the link must name exactly the URL
    /// that the capability covers.
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
    /// Conceals the links' targets; nil if the targets may be visible.
    private let hiding: HiddenLinks?
    private var capabilities: [Folder: String] = [:]
    /// The URLs to which the links lead.
    private(set) var names = PartOwners.Names()

    /// Creates a writer.
    ///
    /// - Parameters:
    ///   - linker: decides on the kind of each link.
    ///   - tokens: creates the capabilities.
    ///   - service: the scheme, host and port of the service; empty if a path from the root is enough.
    /// - Throws: ``VaultError`` with code `storage` if there is no memory for the key that conceals the links' targets.
    init(_ linker: ManifestLinker, _ tokens: TokenIssuer, service: String) throws {
        hiding = try linker.scope.hidden.map { _ in try HiddenLinks(tokens.keyring) }
        self.linker = linker
        self.tokens = tokens
        self.service = service
    }

    /// Returns the link for a reference: a path and query on this service that contain the origin's path byte for byte.
    mutating func text(for reference: ManifestReference) -> String {
        let url = reference.url.escaped
        names.insert(url, isFolder: reference.isFolder)
        if let hiding, let hidden = linker.scope.hidden {
            // A playlist may turn out to be an MPD, whose segments are found relative to it.
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
