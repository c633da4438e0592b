public import VaultManifest
public import VaultModel
package import VaultStorage

/// A title of several resources as it was fetched: a manifest and everything that it names.
///
/// The title is recorded with the manifest, and sealed like everything else about a resource.
public struct Title: Hashable, Codable, Sendable {
    /// The kind of the manifest.
    public let kind: ManifestKind
    /// The selection that was requested.
    public let selection: RenditionSelection
    /// The renditions that were fetched; empty if the manifest offers no choice.
    public let renditions: [Rendition]
    /// The languages of audio that the manifest offers besides those that were fetched.
    public let otherAudio: [String]
    /// The languages of subtitles that the manifest offers besides those that were fetched.
    public let otherSubtitles: [String]
    /// How long the title plays, in milliseconds; nil if the manifest does not state it.
    @OrNull public package(set) var duration: Int64?
    /// The number of the title's resources, manifests included.
    public package(set) var resources: Int
    /// The number of bytes held of all the title's resources together.
    public package(set) var bytes: Int64
    /// The size of all the title's resources in bytes; nil until all of them have been completely held once.
    @OrNull public package(set) var size: Int64?
    /// Whether all of the title's resources are completely held.
    public package(set) var isComplete: Bool
    /// Why the last fetch left the title incomplete: a sentence for each part that could not be fetched, at most 16.
    public package(set) var missing: [String]
    /// When the title was last fetched.
    public let fetched: Timestamp

    private enum CodingKeys: String, CodingKey {
        case kind, selection, renditions, otherAudio, otherSubtitles, duration, resources, bytes, size, missing, fetched
        case isComplete = "complete"
    }

    /// The maximum number of renditions to record.
    private static let maxRenditions = 64
    /// The maximum number of sentences about missing parts that are recorded, and of characters in each.
    private static let (maxMissing, maxSentence) = (16, 500)

    /// - Parameters:
    ///   - manifest: the part of the manifest that the selection chooses.
    ///   - whole: all of the manifest.
    package init(
        manifest: Manifest, of whole: Manifest, selection: RenditionSelection, duration: Duration?, resources: Int,
        fetched: Int64
    ) {
        self.selection = selection
        kind =
            switch manifest {
            case .hls: .hls
            case .dash: .dash
            }
        let (offered, chosen) = (whole.renditions, manifest.renditions)
        renditions = Array(chosen.prefix(Self.maxRenditions))
        otherAudio = Self.languages(of: .audio, in: offered, besides: chosen)
        otherSubtitles = Self.languages(of: .subtitles, in: offered, besides: chosen)
        self.duration = duration.map { Int64(clamping: $0.components.seconds) * 1000 }
        self.resources = resources
        bytes = 0
        size = nil
        isComplete = false
        missing = []
        self.fetched = Timestamp(seconds: fetched)
    }

    private static func languages(
        of kind: Rendition.Kind, in offered: [Rendition], besides chosen: [Rendition]
    ) -> [String] {
        func tags(_ renditions: [Rendition]) -> [String] {
            renditions.filter { $0.kind == kind }.compactMap(\.language).filter(LanguageList.isTag)
        }
        return Array(Set(tags(offered)).subtracting(tags(chosen)).sorted().prefix(maxRenditions))
    }

    /// Records why parts are missing.
    package mutating func noteMissing(_ errors: [VaultError]) {
        missing = errors.prefix(Self.maxMissing).map { String($0.message.prefix(Self.maxSentence)) }
    }

    /// Returns the languages of a selection for which the title has no audio, and those for which it has no subtitles.
    package func missingLanguages(of selection: RenditionSelection) -> (audio: [String], subtitles: [String]) {
        func missing(_ languages: [String], _ kind: Rendition.Kind) -> [String] {
            languages.filter { language in
                !renditions.contains { $0.kind == kind && $0.speaks(LanguageRanges([language])) }
            }
        }
        var (audio, subtitles): ([String], [String]) = ([], [])
        if case .languages(let languages) = selection.audio { audio = missing(languages, .audio) }
        if case .languages(let languages) = selection.subtitles { subtitles = missing(languages, .subtitles) }
        return (audio, subtitles)
    }

    /// Returns a manifest that offers a player only what is held, to play while the title's origin is unreachable.
    package func heldPart(of manifest: Manifest) -> Manifest { manifest.selecting(selection) }
}

// The record of a title, which is part of its manifest's metadata.
extension Title {
    /// Reads a record; nil if the record is invalid, so that the manifest counts as an ordinary resource.
    package init?(_ record: JSONObject) {
        guard let kind = (try? record.string("kind")).flatMap(ManifestKind.init),
            let video = (try? record.string("video")).flatMap(RenditionSelection.Video.init),
            let audio = (try? record.string("audio")).flatMap(RenditionSelection.Audio.init),
            let subtitles = (try? record.string("subtitles")).flatMap(RenditionSelection.Subtitles.init),
            let resources = try? record.integer("resources"), let bytes = try? record.integer("bytes"),
            let isComplete = try? record.bool("complete"), let fetched = try? record.integer("fetched")
        else { return nil }
        self.kind = kind
        selection = RenditionSelection(video: video, audio: audio, subtitles: subtitles)
        self.resources = Int(clamping: resources)
        self.bytes = bytes
        self.isComplete = isComplete
        self.fetched = Timestamp(seconds: fetched)
        renditions = ((try? record.optionalObjects("renditions")) ?? []).prefix(Self.maxRenditions)
            .compactMap(Rendition.init)
        func languages(_ name: String) -> [String] {
            ((try? record.strings(name)) ?? []).filter(LanguageList.isTag).prefix(Self.maxRenditions).map(\.self)
        }
        (otherAudio, otherSubtitles) = (languages("otherAudio"), languages("otherSubtitles"))
        duration = (try? record.optionalInteger("duration")) ?? nil
        missing = record["missing"].flatMap(Self.sentences) ?? []
        // Older versions of the vault did not record a size.
        size = ((try? record.optionalInteger("size")) ?? nil) ?? (isComplete ? bytes : nil)
    }

    private static func sentences(_ value: JSONValue) -> [String]? {
        guard case .array(let values) = value else { return nil }
        return values.prefix(maxMissing).compactMap { value in
            guard case .string(let text) = value else { return nil }
            return String(text.prefix(maxSentence))
        }
    }

    package var record: JSONObject {
        var record = JSONObject([
            "kind": .string(kind.rawValue), "video": .string(selection.video.rawValue),
            "audio": .string(selection.audio.rawValue),
            "subtitles": .string(selection.subtitles.rawValue),
            "renditions": .array(renditions.map { .object($0.record.members) }),
            "duration": duration.map { .bounded($0) } ?? .null, "resources": .bounded(Int64(resources)),
            "bytes": .bounded(bytes), "size": size.map { .bounded($0) } ?? .null, "complete": .bool(isComplete),
            "fetched": .bounded(fetched.seconds),
        ])
        for (name, languages) in [("otherAudio", otherAudio), ("otherSubtitles", otherSubtitles)]
        where !languages.isEmpty { record[name] = .array(languages.map { .string($0) }) }
        if !missing.isEmpty { record["missing"] = .array(missing.map { .string($0) }) }
        return record
    }
}

extension ResourceRecord {
    /// The title whose manifest is this resource; nil if the resource was not fetched as a title.
    package var title: Title? { metadata?.title.flatMap { Title($0) } }

    /// Records that the resource is a part of a title. May block.
    ///
    /// - Parameters:
    ///   - title: the title's manifest.
    ///   - resourceClass: the title's class, to which the part is raised.
    package func join(_ title: NamedResource, as resourceClass: ResourceClass) throws {
        guard let resource = stored.withLock({ $0 }) else { return }
        let isIn = resource.metadata.partOf.contains(title.key.bytes)
        // A person fetched or pinned the resource before any title named it, perhaps only a moment ago.
        let isOwn =
            try resource.metadata.partOf.isEmpty
            && store.index.resources.find(id).map { $0.resourceClass != .cache } ?? false
        guard !isIn || (resource.resourceClass != resourceClass && resource.resourceClass != .pinned) else { return }
        try changeTitles(raisingTo: resourceClass, .join(title.id)) { metadata in
            if !isIn { metadata.partOf.append(title.key.bytes) }
            if isOwn { metadata.isOwn = true }
        }
    }
}

extension Rendition {
    fileprivate init?(_ record: JSONObject) {
        guard let id = try? record.string("id"), let kind = (try? record.string("kind")).flatMap(Kind.init) else {
            return nil
        }
        func text(_ name: String) -> String? { (try? record.optionalString(name)) ?? nil }
        func number(_ name: String) -> Int? { ((try? record.optionalInteger(name)) ?? nil).map { Int(clamping: $0) } }
        self.init(id: id, kind: kind)
        (language, name, codecs) = (text("language"), text("name"), text("codecs"))
        (bandwidth, width, height) = (number("bandwidth"), number("width"), number("height"))
        isDefault = record["default"] == .bool(true)
        isForced = record["forced"] == .bool(true)
    }

    /// The rendition's record. It leaves out the manifest's groups, because nothing reads them.
    fileprivate var record: JSONObject {
        var record = JSONObject(["id": .string(id), "kind": .string(kind.rawValue)])
        func text(_ value: String?) -> JSONValue? { value.map { .string(String($0.prefix(Self.maxText))) } }
        func number(_ value: Int?) -> JSONValue? { value.map { .bounded(Int64($0)) } }
        (record["language"], record["name"], record["codecs"]) = (text(language), text(name), text(codecs))
        (record["bandwidth"], record["width"], record["height"]) = (number(bandwidth), number(width), number(height))
        if isDefault { record["default"] = .bool(true) }
        if isForced { record["forced"] = .bool(true) }
        return record
    }

    /// The maximum number of characters of a string that are recorded.
    private static var maxText: Int { 200 }
}

extension JSONValue {
    /// Returns the nearest integer that a record can contain. With any other integer, the whole record could not be
    /// read again.
    fileprivate static func bounded(_ number: Int64) -> JSONValue { .integer(min(max(0, number), largestInteger)) }
}
