/// The renditions of a title to keep offline.
///
/// The default suits anyone who only wants to watch: the best picture, the language that the title starts in, and the
/// subtitles that it starts with.
public struct RenditionSelection: Hashable, Codable, Sendable {
    /// The video qualities to keep.
    public enum Video: Hashable, Sendable {
        case best, worst, all
        /// The tallest picture whose height in pixels is at most this; if all are taller, the lowest one.
        case height(Int)
    }

    /// The audio languages to keep.
    public enum Audio: Hashable, Sendable {
        /// The language that plays unless another is chosen.
        case `default`
        case all
        /// These languages, or the default if the title has none of them.
        case languages([String])
    }

    /// The subtitles to keep.
    public enum Subtitles: Hashable, Sendable {
        /// The subtitles that are shown unless others are chosen, and the forced ones in the language of the audio.
        case `default`
        case none, all
        /// These languages.
        case languages([String])
    }

    /// The video qualities to keep.
    public var video: Video
    /// The audio languages to keep.
    public var audio: Audio
    /// The subtitles to keep.
    public var subtitles: Subtitles

    /// Creates a selection.
    public init(video: Video = .best, audio: Audio = .default, subtitles: Subtitles = .default) {
        self.video = video
        self.audio = audio
        self.subtitles = subtitles
    }

    /// Returns the selection with these languages where it leaves the choice to the title. Without any, it is unchanged.
    package func preferring(_ languages: [String]) -> RenditionSelection {
        guard !languages.isEmpty else { return self }
        return RenditionSelection(
            video: video, audio: audio == .default ? .languages(languages) : audio,
            subtitles: subtitles == .default ? .languages(languages) : subtitles)
    }
}

extension RenditionSelection.Video {
    /// Returns the chosen qualities of one video, which are one of them or all.
    ///
    /// Qualities are ranked by height, then by bit rate; of equal ones, the first ranks higher. If no quality states
    /// its height, only the bit rate counts, and choosing by height yields the best quality.
    package func chosen(from qualities: [Rendition]) -> [Rendition] {
        let ranked = qualities.enumerated().sorted { one, other in
            let (left, right) = (Self.rank(one.element), Self.rank(other.element))
            return left == right ? one.offset > other.offset : left < right
        }.map(\.element)
        switch self {
        case .all: return qualities
        case .best: return ranked.suffix(1)
        case .worst: return Array(ranked.prefix(1))
        case .height(let most):
            let measured = ranked.filter { $0.height != nil }
            guard let lowest = measured.first else { return ranked.suffix(1) }
            return [measured.last { $0.height ?? 0 <= most } ?? lowest]
        }
    }

    private static func rank(_ quality: Rendition) -> (Int, Int) { (quality.height ?? 0, quality.bandwidth ?? 0) }
}

extension RenditionSelection.Audio {
    /// Returns the alternatives chosen from a group. There is at least one, unless the group is empty.
    package func chosen(from group: [Rendition]) -> [Rendition] {
        let usual = (group.first(where: \.isDefault) ?? group.first).map { [$0] } ?? []
        switch self {
        case .all: return group
        case .default: return usual
        case .languages(let languages):
            let wanted = LanguageRanges(languages)
            let spoken = group.filter { $0.speaks(wanted) }
            return spoken.isEmpty ? usual : spoken
        }
    }
}

extension RenditionSelection.Subtitles {
    /// Returns the alternatives chosen from a group.
    ///
    /// - Parameter spoken: the languages of the chosen audio.
    package func chosen(from group: [Rendition], spoken: LanguageRanges) -> [Rendition] {
        switch self {
        case .all: return group
        case .none: return []
        case .default: return group.filter { $0.isDefault || ($0.isForced && $0.speaks(spoken)) }
        case .languages(let languages):
            let wanted = LanguageRanges(languages)
            return group.filter { $0.speaks(wanted) }
        }
    }
}
