/// The renditions of a title that are wanted offline.
///
/// The default is what a person would choose who only wants to watch: the best picture, the language that the title
/// opens in, and the subtitles that it opens with.
public struct RenditionSelection: Hashable, Codable, Sendable {
    /// Which qualities of the video.
    public enum Video: Hashable, Sendable {
        case best, worst, all
        /// The tallest picture that is not taller than this, in pixels; else the lowest.
        case height(Int)
    }

    /// Which languages of the audio.
    public enum Audio: Hashable, Sendable {
        /// The one that plays unless the viewer chooses another.
        case `default`
        case all
        /// These languages; the default if the title has none of them.
        case languages([String])
    }

    /// Which subtitles.
    public enum Subtitles: Hashable, Sendable {
        /// Those that play unless the viewer chooses others, and the forced ones in the language of the audio.
        case `default`
        case none, all
        /// These languages.
        case languages([String])
    }

    /// Which qualities of the video.
    public var video: Video
    /// Which languages of the audio.
    public var audio: Audio
    /// Which subtitles.
    public var subtitles: Subtitles

    /// Creates a selection.
    public init(video: Video = .best, audio: Audio = .default, subtitles: Subtitles = .default) {
        self.video = video
        self.audio = audio
        self.subtitles = subtitles
    }
}

extension RenditionSelection.Video {
    /// Returns the chosen ones of several qualities of one video: one of them, or all.
    ///
    /// Among equally tall ones the highest bit rate counts, then the first. If none states its height, the bit rate
    /// alone decides, and a wanted height means the best.
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
    /// Returns the chosen ones of a group of alternatives; never none of some.
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
    /// Returns the chosen ones of a group of alternatives.
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
