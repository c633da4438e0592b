package import VaultModel

/// A DASH media presentation description, MPD (ISO/IEC 23009-1).
///
/// Elements are recognized by their names without prefixes. Nothing is included from other documents (``DASHRemote``),
/// and names that players read differently are refused or removed (``DASHNames``).
package struct DASHManifest: Sendable {
    let root: MarkupElement
    /// The URL that the MPD came from.
    let url: MediaURL
    /// The size in bytes of the MPD that was parsed.
    let byteCount: Int

    /// Parses an MPD.
    ///
    /// - Parameters:
    ///   - bytes: the whole MPD, in UTF-8 or ASCII, with or without a byte order mark.
    ///   - url: the URL that the MPD came from.
    ///   - limits: the limits that the MPD must respect.
    /// - Throws: ``ManifestError`` if the MPD cannot be routed through the vault, or names too much.
    package init(_ bytes: [UInt8], url: MediaURL, limits: ManifestLimits) throws(ManifestError) {
        root = try DASHRemote.resolved(MarkupReader.read(bytes, limits: limits))
        self.url = url
        byteCount = bytes.count
        guard root.localName == "MPD" else { throw .notAManifest }
        try Self.check(root)
        var budget = ManifestBudget(limits)
        for representation in DASHWalk.representations(of: root, at: url) {
            try representation.spend(&budget, isLive: isLive)
        }
    }

    init(_ root: MarkupElement, url: MediaURL, byteCount: Int) {
        self.root = root
        self.url = url
        self.byteCount = byteCount
    }

    /// The alternative URLs of files, keyed by the first URL. Each comes from another choice among several `BaseURL`
    /// elements, at one level or at several.
    package var alternatives: [MediaURL: [MediaURL]] {
        DASHAlternatives(root: root, url: url, isLive: isLive).places
    }

    /// Refuses elements that import another manifest, elements that players read differently, and templates that would
    /// exhaust a player's memory.
    ///
    /// - Parameter isForeign: whether the element contains names that are not DASH names.
    private static func check(_ element: MarkupElement, isForeign: Bool = false) throws(ManifestError) {
        guard element.localName != "ImportedMPD" else { throw .remoteElement }
        if element.localName == DASHNaming.template.rawValue {
            let isTooWide = element.attributes.contains { DASHTemplate($0.value).isTooWide }
            guard !isTooWide else { throw .malformed(line: max(1, element.line), .template) }
        }
        let isForeign = isForeign || DASHNames.isForeign(element)
        var once: Set<Substring> = []
        for child in element.elements {
            let name = child.localName
            let isRepeated = DASHNames.once.contains(name) && !once.insert(name).inserted
            guard isForeign || !isRepeated && !DASHNames.isMisspelled(name) else {
                throw .malformed(line: max(1, child.line), .element)
            }
            try check(child, isForeign: isForeign)
        }
    }

    /// Whether the MPD may change or grow (`type="dynamic"`, ISO/IEC 23009-1 §5.3.1.2).
    package var isLive: Bool { root["type"]?.trimmingSpace() == "dynamic" }

    /// Every file that the MPD names, in order. For a live MPD, these are only the files that do not depend on the time
    /// of day.
    ///
    /// If a level has several `BaseURL` elements, the first one counts; see ``alternatives``.
    package var references: [ManifestReference] {
        DASHWalk.representations(of: root, at: url).flatMap { $0.references(isLive: isLive) }
    }

    /// Whether the MPD has a Representation.
    var namesSomething: Bool { !DASHWalk.representations(of: root, at: url).isEmpty }

    /// The first Representations that have a file which players are not allowed to request.
    var refusals: [ManifestRefusal] {
        let refused = DASHWalk.representations(of: root, at: url).lazy.filter { $0.files(isLive: isLive).isRefused }
        return refused.prefix(ManifestRefusal.most).map {
            ManifestRefusal(line: max(1, $0.element.line), role: .segment)
        }
    }

    /// The approximate amount of memory that the MPD occupies, in bytes. A tree of short strings is many times as large
    /// as its source.
    var weight: Int { byteCount * 8 }

    /// The title's duration; nil if the MPD does not state it, or is live.
    package var duration: Duration? {
        guard !isLive else { return nil }
        if let total = root["mediaPresentationDuration"].flatMap(DASHTime.nanoseconds) {
            return .nanoseconds(total)
        }
        let lengths = DASHWalk.periodLengths(root.elements("Period"), total: nil)
        guard !lengths.isEmpty, !lengths.contains(nil) else { return nil }
        return .nanoseconds(lengths.compactMap(\.self).reduce(Int64(0)) { $0.addingClamped($1) })
    }

    /// The title's name as `ProgramInformation` states it, cut to 512 bytes.
    package var title: String? {
        let title = root.elements("ProgramInformation").lazy.compactMap { $0.first("Title")?.text }.first {
            !$0.isEmpty
        }
        guard let title else { return nil }
        return String(decoding: title.utf8.prefix(512), as: UTF8.self)
    }

    /// Returns the MPD with only what a player needs; see ``Manifest/sanitized(_:)``.
    func sanitized(_ traces: OriginTraces) -> DASHManifest {
        DASHManifest(DASHSanitizer.removed(from: root, traces), url: url, byteCount: byteCount)
    }

    /// Returns the MPD for a player that finds it at another URL, with the MPD's own URL as the base of its references.
    ///
    /// - Parameter player: the URL at which the player finds the MPD.
    func placed(at player: MediaURL) -> DASHManifest {
        guard player.folder != url.folder else { return self }
        var root = root
        for (index, child) in root.children.enumerated() {
            guard case .element(var base) = child, Self.isPlace(base),
                case .inside(let target?) = DASHBase(url: url).target(of: base.text, .data)
            else { continue }
            base.replaceContent(by: target.absoluteString)
            root.children[index] = .element(base)
        }
        if !root.elements.contains(where: { Self.isPlace($0) && $0.localName == "BaseURL" }) {
            var base = root.sibling("BaseURL")
            base.replaceContent(by: url.folder.absoluteString)
            root.children.insert(.element(base), at: 0)
        }
        return DASHManifest(root, url: url, byteCount: byteCount)
    }

    /// Returns whether a child of the root states where the MPD or its files are located.
    private static func isPlace(_ element: MarkupElement) -> Bool {
        ["BaseURL", "Location"].contains(element.localName) && !DASHNames.isForeign(element)
    }

    /// Returns the MPD's bytes with its URIs replaced, and without elements that would make a player bypass the vault.
    ///
    /// - Parameters:
    ///   - hidesNames: see ``Manifest/rewritten(hidesNames:_:)``.
    ///   - link: returns the URI to write for a reference, or nil to keep the existing one.
    package func rewritten(
        hidesNames: Bool = false, _ link: (ManifestReference) throws -> String?
    ) rethrows -> [UInt8] {
        let rewritten = try withoutActuallyEscaping(link) { link in
            try DASHRewriting(isLive: isLive, hidesNames: hidesNames, link: link)
                .rewritten(root, at: DASHBase(url: url))
        }
        return MarkupWriter.write(rewritten, capacity: byteCount + byteCount / 4)
    }
}
