import ArgumentParser
import VaultService

/// A setting of the vault, as `config` names it.
enum ConfigKey: String, CaseIterable, ExpressibleByArgument, Sendable {
    case maxSize = "max-size"
    case maxAge = "max-age"
    case minFree = "min-free"

    static let names = allCases.map(\.rawValue).joined(separator: ", ")

    static let manual = """
        max-size SIZE: the most bytes of sealed media: 200MiB, 2GB, 1048576; 0 is no limit.
        max-age AGE: how long what was merely played is kept after it was last read: 90d, 12h; 0 is for ever.
        min-free SIZE: the bytes that the vault leaves free on its disk; 0 is none.
        """

    /// What the setting is, a line for each of its values.
    func lines(_ settings: SettingsDocument) -> [String] {
        switch self {
        case .maxSize: [String(settings.maxSize)]
        case .maxAge: [AgeArgument.text(settings.maxAge)]
        case .minFree: [String(settings.minFree)]
        }
    }

    /// The change that makes the setting what was typed.
    func change(_ values: [String]) throws -> SettingsChange {
        guard values.count == 1, let value = values.first else {
            throw UsageError("\(rawValue) is one value; see mediavault config set --help")
        }
        var change = SettingsChange()
        switch self {
        case .maxSize: change.maxSize = try SizeArgument.parse(value, rawValue)
        case .maxAge: change.maxAge = try AgeArgument.parse(value, rawValue)
        case .minFree: change.minFree = try SizeArgument.parse(value, rawValue)
        }
        return change
    }

    /// The change that takes the setting back.
    var absence: SettingsChange {
        var change = SettingsChange()
        switch self {
        case .maxSize: change.maxSize = 0
        case .maxAge: change.maxAge = 0
        case .minFree: change.minFree = 0
        }
        return change
    }
}
