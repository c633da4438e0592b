import VaultModel

/// An AdaptationSet of a Period, with the alternatives for one video, one audio track or one subtitle language.
struct DASHAdaptation {
    /// The kind of content in an AdaptationSet.
    enum Content: Hashable {
        case media(Rendition.Kind)
        /// Pictures for seeking, such as thumbnails and trick modes.
        case extra
        /// Anything else, such as metadata.
        case other
    }

    let element: MarkupElement
    let content: Content
    /// One rendition for each Representation of a video, or else one for the whole set.
    let renditions: [Rendition]
    /// The set's Representations.
    let representations: [MarkupElement]
    /// The ids of the Representations. A Representation without an id is identified by its place.
    let ids: [String]
    let roles: Set<String>

    /// Reads an AdaptationSet.
    ///
    /// - Parameter place: the set's place in the manifest, from which Representations without an id get theirs.
    init(_ element: MarkupElement, place: String) {
        self.element = element
        let representations = element.elements("Representation")
        let ids = representations.enumerated().map { $1["id"] ?? "\(place).\($0)" }
        (self.representations, self.ids) = (representations, ids)
        let content = Self.content(of: element, representations.first)
        self.content = content
        let roles = Set(
            element.elements("Role").filter { $0["schemeIdUri"] == "urn:mpeg:dash:role:2011" }
                .compactMap { $0["value"]?.trimmingSpace() })
        self.roles = roles
        guard case .media(let kind) = content else {
            renditions = []
            return
        }
        let label = element.elements("Label").lazy.map(\.text).first { !$0.isEmpty } ?? element["label"]
        let all = zip(representations, ids).map { representation, id in
            let inherited: (String) -> String? = { representation[$0] ?? element[$0] }
            var rendition = Rendition(id: id, kind: kind)
            rendition.language = element["lang"] ?? element.first("ContentComponent")?["lang"]
            rendition.name = label
            rendition.bandwidth = representation.number("bandwidth").map(Int.init)
            rendition.width = inherited("width").flatMap { DecimalNumber.exact($0) }.map(Int.init)
            rendition.height = inherited("height").flatMap { DecimalNumber.exact($0) }.map(Int.init)
            rendition.codecs = inherited("codecs")
            rendition.isDefault = roles.contains("main")
            rendition.isForced = roles.contains("forced-subtitle") || roles.contains("forced_subtitle")
            return rendition
        }
        // For audio and subtitles, only the best bit rate is offered as a choice.
        renditions = kind == .video ? all : RenditionSelection.Video.best.chosen(from: all)
    }

    private static func content(of set: MarkupElement, _ first: MarkupElement?) -> Content {
        let component = set.first("ContentComponent")
        let type = (set["mimeType"] ?? first?["mimeType"] ?? "").lowercased()
        let named = (set["contentType"] ?? component?["contentType"] ?? first?["contentType"])?.lowercased()
        let codecs = set["codecs"] ?? first?["codecs"] ?? ""
        let properties = set.elements.filter {
            $0.localName == "EssentialProperty" || $0.localName == "SupplementalProperty"
        }
        if properties.contains(where: { $0["schemeIdUri"]?.trimmingSpace() == trickScheme }) { return .extra }
        switch named ?? String(type.prefix { $0 != "/" }) {
        case "video": return .media(.video)
        case "audio": return .media(.audio)
        case "text": return .media(.subtitles)
        case "image": return .extra
        default:
            let isText = type.hasPrefix("application/ttml") || codecs.hasPrefix("stpp") || codecs.hasPrefix("wvtt")
            return isText ? .media(.subtitles) : .other
        }
    }

    private static let trickScheme = "http://dashif.org/guidelines/trickmode"
}

extension DASHManifest {
    /// The renditions to choose from: each video Representation, and each audio and subtitle language.
    ///
    /// A rendition that several Periods have is listed once.
    package var renditions: [Rendition] {
        var result: [Rendition] = []
        var ids: Set<String> = []
        var earlier: Set<Rendition> = []
        for (index, period) in root.elements("Period").enumerated() {
            let found = Self.adaptations(of: period, index).flatMap(\.renditions)
            for rendition in found where !earlier.contains(rendition.choice) && ids.insert(rendition.id).inserted {
                result.append(rendition)
            }
            earlier.formUnion(found.map(\.choice))
        }
        return result
    }

    /// Returns the MPD for playing offline, with only the chosen renditions in each Period, and without links to other
    /// manifests. Every `BaseURL` is kept, because files may be held from any of them. A live MPD is returned
    /// unchanged.
    package func selecting(_ selection: RenditionSelection) -> DASHManifest {
        guard !isLive else { return self }
        var selected = Self.withoutOtherManifests(root)
        var number = 0
        for (index, node) in selected.children.enumerated() {
            guard let period = node.element, period.localName == "Period" else { continue }
            selected.children[index] = .element(Self.select(selection, in: period, number))
            number += 1
        }
        return DASHManifest(selected, url: url, byteCount: byteCount)
    }

    private static func adaptations(of period: MarkupElement, _ number: Int) -> [DASHAdaptation] {
        period.elements("AdaptationSet").enumerated().map { DASHAdaptation($1, place: "\(number).\($0)") }
    }

    private static func select(_ selection: RenditionSelection, in period: MarkupElement, _ number: Int)
        -> MarkupElement
    {
        let sets = adaptations(of: period, number)
        let choice = Choice(selection, among: sets)
        var result = period
        var place = 0
        var isComplete = true
        result.children = period.children.compactMap { node in
            guard let element = node.element, element.localName == "AdaptationSet" else { return node }
            let kept = choice.kept(of: sets[place])
            place += 1
            guard let kept else {
                isComplete = false
                return nil
            }
            return .element(kept)
        }
        // `Subset` and `Preselection` refer to AdaptationSets, some of which have been removed.
        if !isComplete {
            result.children.removeAll { ["Subset", "Preselection"].contains($0.element?.localName ?? "") }
        }
        return result
    }

    /// Returns an element without the properties that name manifests to play next or as a fallback.
    private static func withoutOtherManifests(_ element: MarkupElement) -> MarkupElement {
        guard DASHWalk.levelNames.contains(element.localName) else { return element }
        var result = element
        result.children = element.children.compactMap { node in
            guard let child = node.element else { return node }
            guard !DASHRequests.manifestSchemes.contains(child["schemeIdUri"]?.trimmingSpace() ?? "") else {
                return nil
            }
            return .element(withoutOtherManifests(child))
        }
        return result
    }
}

/// The renditions chosen in one Period.
private struct Choice {
    private let ids: [Rendition.Kind: Set<String>]
    private let selection: RenditionSelection
    /// The Representations without which the chosen ones cannot be decoded (`dependencyId`).
    private let needed: Set<String>

    init(_ selection: RenditionSelection, among sets: [DASHAdaptation]) {
        self.selection = selection
        let all: (Rendition.Kind) -> [DASHAdaptation] = { kind in sets.filter { $0.content == .media(kind) } }
        let videos = all(.video)
        // Videos with another role, such as a sign-language interpreter, do not compete with the main video.
        let main = videos.filter { $0.roles.contains("main") }
        let video = selection.video.chosen(
            from: (main.isEmpty || selection.video == .all ? videos : main).flatMap(\.renditions))
        let audio = selection.audio.chosen(from: all(.audio).flatMap(\.renditions))
        let subtitles = selection.subtitles.chosen(
            from: all(.subtitles).flatMap(\.renditions), spoken: LanguageRanges(audio.compactMap(\.language)))
        ids = [.video: Set(video.map(\.id)), .audio: Set(audio.map(\.id)), .subtitles: Set(subtitles.map(\.id))]
        needed = Self.dependencies(of: ids.values.reduce(into: []) { $0.formUnion($1) }, in: sets)
    }

    private static func dependencies(of chosen: Set<String>, in sets: [DASHAdaptation]) -> Set<String> {
        var names: [String: [String]] = [:]
        for representation in sets.flatMap(\.representations) {
            guard let id = representation["id"], let text = representation["dependencyId"] else { continue }
            names[id] = text.split(whereSeparator: \.isWhitespace).map(String.init)
        }
        var needed: Set<String> = []
        var next = Array(chosen)
        while let id = next.popLast() {
            for name in names[id] ?? [] where needed.insert(name).inserted { next.append(name) }
        }
        return needed
    }

    /// Returns an AdaptationSet with only the Representations to keep; nil if there are none.
    func kept(of set: DASHAdaptation) -> MarkupElement? {
        switch set.content {
        case .other: return set.element
        case .extra: return selection.video == .all ? set.element : nil
        case .media(let kind):
            let chosen = ids[kind] ?? []
            // If all video qualities are wanted, every bit rate of the chosen audio and subtitles is kept, too.
            let isWhole =
                selection.video == .all && set.renditions.contains { chosen.contains($0.id) } && kind != .video
            var place = 0
            var count = 0
            var result = set.element
            result.children = set.element.children.filter { node in
                guard let element = node.element, element.localName == "Representation" else { return true }
                let id = set.ids[place]
                place += 1
                guard isWhole || chosen.contains(id) || needed.contains(id) else { return false }
                count += 1
                return true
            }
            return count > 0 ? result : nil
        }
    }
}

extension Rendition {
    /// The properties that distinguish a rendition from others, regardless of its bit rate and its id in one Period.
    fileprivate var choice: Rendition {
        var choice = Rendition(id: "", kind: kind)
        (choice.language, choice.name, choice.height) = (language, name, height)
        return choice
    }
}
