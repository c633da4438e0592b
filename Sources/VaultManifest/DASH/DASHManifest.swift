package import VaultModel

/// A DASH media presentation description, MPD (ISO/IEC 23009-1).
///
/// Elements are known by their names without prefix. Nothing is taken from other documents (``DASHRemote``), and what
/// players read differently is refused (``DASHNames``).
package struct DASHManifest: Sendable {
    let root: MarkupElement
    /// Where the MPD was found.
    let url: MediaURL
    /// The length of what was parsed.
    let byteCount: Int

    /// Parses an MPD.
    ///
    /// - Parameters:
    ///   - bytes: the whole MPD, in UTF-8 or ASCII, with or without a byte order mark.
    ///   - url: where it was found.
    ///   - limits: the bounds of what is parsed.
    /// - Throws: ``ManifestError`` if it cannot be led through the vault, or names too much.
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

    /// Refuses what would be fetched as a part of the manifest, what players read differently, and templates that would
    /// fill a player's memory.
    ///
    /// - Parameter isForeign: whether the names in the element are not those of DASH.
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

    /// Every file that the MPD names, in order; of a live one, only what does not depend on the time of day.
    ///
    /// If a level has several `BaseURL`, the first counts; see ``alternatives``.
    package var references: [ManifestReference] {
        DASHWalk.representations(of: root, at: url).flatMap { $0.references(isLive: isLive) }
    }

    /// Whether it has a Representation.
    var namesSomething: Bool { !DASHWalk.representations(of: root, at: url).isEmpty }

    /// The first Representations of which a player is refused something.
    var refusals: [ManifestRefusal] {
        let refused = DASHWalk.representations(of: root, at: url).lazy.filter { $0.files(isLive: isLive).isRefused }
        return refused.prefix(ManifestRefusal.most).map {
            ManifestRefusal(line: max(1, $0.element.line), role: .segment)
        }
    }

    /// About how many bytes of memory it takes: a tree of short texts is many times as large as what it was read from.
    var weight: Int { byteCount * 8 }

    /// How long the title plays; nil if the MPD does not say it, or is live.
    package var duration: Duration? {
        guard !isLive else { return nil }
        if let total = root["mediaPresentationDuration"].flatMap(DASHTime.nanoseconds) {
            return .nanoseconds(total)
        }
        let lengths = DASHWalk.periodLengths(root.elements("Period"), total: nil)
        guard !lengths.isEmpty, !lengths.contains(nil) else { return nil }
        return .nanoseconds(lengths.compactMap(\.self).reduce(Int64(0)) { $0.addingClamped($1) })
    }

    /// The name of the title, as `ProgramInformation` states it; at most 512 bytes of it.
    package var title: String? {
        let title = root.elements("ProgramInformation").lazy.compactMap { $0.first("Title")?.text }.first {
            !$0.isEmpty
        }
        guard let title else { return nil }
        return String(decoding: title.utf8.prefix(512), as: UTF8.self)
    }

    /// Returns the MPD without what no player needs; see ``Manifest/sanitized(_:)``.
    func sanitized(_ traces: OriginTraces) -> DASHManifest {
        DASHManifest(DASHSanitizer.removed(from: root, traces), url: url, byteCount: byteCount)
    }

    /// Returns the MPD as a player must get it that finds it elsewhere: with its own URL as the base of what is in it.
    ///
    /// - Parameter player: where a player finds it.
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

    /// Whether an element in the root says where the MPD, or what is in it, is found.
    private static func isPlace(_ element: MarkupElement) -> Bool {
        ["BaseURL", "Location"].contains(element.localName) && !DASHNames.isForeign(element)
    }

    /// Returns the MPD with other URIs, and without what would make a player ask around the vault.
    ///
    /// - Parameters:
    ///   - hidesNames: see ``Manifest/rewritten(hidesNames:_:)``.
    ///   - link: returns the URI to write for a reference, or nil to keep what stands there.
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
