/// The renditions of a title that are wanted offline.
///
/// The default suits anyone who only wants to watch: the best picture, the language that the title opens in, and the
/// subtitles that it opens with.
public struct RenditionSelection: Hashable, Codable, Sendable {
    /// The wanted qualities of the video.
    public enum Video: Hashable, Sendable {
        case best, worst, all
        /// The tallest picture of at most this height in pixels; else the lowest one.
        case height(Int)
    }

    /// The wanted languages of the audio.
    public enum Audio: Hashable, Sendable {
        /// The one that plays unless another is chosen.
        case `default`
        case all
        /// These languages; the default if the title has none of them.
        case languages([String])
    }

    /// The wanted subtitles.
    public enum Subtitles: Hashable, Sendable {
        /// The ones that play unless others are chosen, and the forced ones in the language of the audio.
        case `default`
        case none, all
        /// These languages.
        case languages([String])
    }

    /// The wanted qualities of the video.
    public var video: Video
    /// The wanted languages of the audio.
    public var audio: Audio
    /// The wanted subtitles.
    public var subtitles: Subtitles

    /// Creates a selection.
    public init(video: Video = .best, audio: Audio = .default, subtitles: Subtitles = .default) {
        self.video = video
        self.audio = audio
        self.subtitles = subtitles
    }
}

extension RenditionSelection.Video {
    /// Returns the chosen qualities of one video: one of them, or all.
    ///
    /// Qualities rank by height, then by bit rate; of equal ones, the first ranks higher. If none states its height,
    /// the bit rate alone decides, and a wanted height means the best.
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
    /// Returns the chosen alternatives of a group: at least one, unless the group is empty.
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
    /// Returns the chosen alternatives of a group.
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
