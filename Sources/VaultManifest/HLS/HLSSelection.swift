import VaultModel

extension HLSPlaylist {
    /// The variants and the members of their groups; empty for anything except a multivariant playlist.
    package var renditions: [Rendition] { entries.compactMap(\.rendition) }

    /// Returns the playlist for playing offline, with only the chosen renditions.
    ///
    /// A variant keeps the groups that have a chosen member. If a quality is available on several pathways, one copy is
    /// kept. Pictures for seeking are kept only if all of the video is wanted, because players can do without them.
    /// Closed captions are contained in the video, so they are kept.
    package func selecting(_ selection: RenditionSelection) -> HLSPlaylist {
        let variants = HLSEntry.chosen(from: entries.filter { $0.kind == .variant && $0.url != nil }, selection.video)
        guard !variants.isEmpty else { return self }
        let members = chosenMembers(of: Set(variants.flatMap(\.uses).map(\.group)), selection)
        let ids = Set((variants + members).compactMap(\.rendition?.id))
        let kept = entries.filter { entry in
            entry.rendition.map { ids.contains($0.id) } ?? (entry.kind == .preview && selection.video == .all)
        }
        let lines = Set(kept.flatMap(\.lines))
        let dropped = entries.flatMap(\.lines).filter { !lines.contains($0) }
        let groups = Set(members.compactMap(\.group))
        let attributes = kept.flatMap { entry in
            entry.attributes.cuts(without: Set(entry.uses.filter { !groups.contains($0.group) }.map(\.attribute)))
        }
        return keeping(kept, without: dropped + attributes)
    }

    private func chosenMembers(of groups: Set<HLSGroup>, _ selection: RenditionSelection) -> [HLSEntry] {
        var alternatives: [HLSGroup: [HLSEntry]] = [:]
        for entry in entries {
            if let group = entry.group, groups.contains(group) { alternatives[group, default: []].append(entry) }
        }
        let spoken = LanguageRanges(
            alternatives.filter { $0.key.type == "AUDIO" }.flatMap { _, entries in
                selection.audio.chosen(from: entries.compactMap(\.rendition)).compactMap(\.language)
            })
        return alternatives.flatMap { group, entries in
            let choices = entries.compactMap(\.rendition)
            let chosen =
                switch group.type {
                case "AUDIO": selection.audio.chosen(from: choices)
                case "SUBTITLES": selection.subtitles.chosen(from: choices, spoken: spoken)
                // These are camera angles. Only the default one is kept, unless all of the video is wanted.
                case "VIDEO": (selection.video == .all ? .all : RenditionSelection.Audio.default).chosen(from: choices)
                default: choices
                }
            let ids = Set(chosen.map(\.id))
            return entries.filter { entry in entry.rendition.map { ids.contains($0.id) } ?? false }
        }
    }
}

extension HLSEntry {
    /// Returns the chosen variants: a single one, or all of them without copies.
    static func chosen(from variants: [HLSEntry], _ video: RenditionSelection.Video) -> [HLSEntry] {
        let distinct = withoutCopies(variants)
        if video == .all { return distinct }
        let pictures = distinct.filter { $0.rendition?.kind == .video }
        let candidates = pictures.isEmpty ? distinct : pictures
        let id = video.chosen(from: candidates.compactMap(\.rendition)).first?.id
        guard let chosen = candidates.first(where: { $0.rendition?.id == id }) else { return [] }
        // The same video may be offered with several kinds of audio. The kind that every player can decode is
        // preferred.
        return [candidates.first { $0.url == chosen.url && !$0.hasSurroundCodec } ?? chosen]
    }

    /// Returns the variants without copies of other variants, such as those on another pathway (RFC 8216 §6.2.4).
    private static func withoutCopies(_ variants: [HLSEntry]) -> [HLSEntry] {
        var pathways: [Set<[UInt8]>: [UInt8]] = [:]
        var seen: Set<Set<[UInt8]>> = []
        return variants.filter { variant in
            let pathway = variant.attributes["PATHWAY-ID"].map { Array(variant.attributes.bytes(of: $0)) } ?? []
            let quality = variant.quality(acrossPathways: true)
            let first = pathways[quality, default: pathway]
            pathways[quality] = first
            return first == pathway && seen.insert(variant.quality(acrossPathways: false)).inserted
        }
    }
}
