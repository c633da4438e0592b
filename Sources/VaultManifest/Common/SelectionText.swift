import VaultModel

// Converts selections to and from text, which is the same in the vault, in the API and on the command line.

extension RenditionSelection.Video: RawRepresentable, Codable {
    /// The maximum picture height that can be selected, in pixels.
    private static let maxHeight: Int64 = 100_000

    /// Parses `best`, `worst`, `all` or a height such as `480` or `480p`; nil for anything else.
    public init?(rawValue: String) {
        switch rawValue {
        case "best": self = .best
        case "worst": self = .worst
        case "all": self = .all
        default:
            let lines = rawValue.hasSuffix("p") ? String(rawValue.dropLast()) : rawValue
            guard let height = DecimalNumber.exact(lines), (1...Self.maxHeight).contains(height) else { return nil }
            self = .height(Int(height))
        }
    }

    /// The text that ``init(rawValue:)`` reads.
    public var rawValue: String {
        switch self {
        case .best: "best"
        case .worst: "worst"
        case .all: "all"
        case .height(let height): String(height)
        }
    }
}

extension RenditionSelection.Audio: RawRepresentable, Codable {
    /// Parses `default`, `all` or languages such as `en,de`; nil for anything else.
    public init?(rawValue: String) {
        switch rawValue {
        case "default": self = .default
        case "all": self = .all
        default:
            guard let languages = LanguageList.languages(in: rawValue) else { return nil }
            self = .languages(languages)
        }
    }

    /// The text that ``init(rawValue:)`` reads.
    public var rawValue: String {
        switch self {
        case .default: "default"
        case .all: "all"
        case .languages(let languages): languages.joined(separator: ",")
        }
    }
}

extension RenditionSelection.Subtitles: RawRepresentable, Codable {
    /// Parses `default`, `none`, `all` or languages such as `en,de`; nil for anything else.
    public init?(rawValue: String) {
        switch rawValue {
        case "default": self = .default
        case "none": self = .none
        case "all": self = .all
        default:
            guard let languages = LanguageList.languages(in: rawValue) else { return nil }
            self = .languages(languages)
        }
    }

    /// The text that ``init(rawValue:)`` reads.
    public var rawValue: String {
        switch self {
        case .default: "default"
        case .none: "none"
        case .all: "all"
        case .languages(let languages): languages.joined(separator: ",")
        }
    }
}
