import ArgumentParser
import MediaVault
import VaultService

/// A mode by its name; `default` is none.
struct ModeArgument: Hashable, Sendable, ExpressibleByArgument {
    let mode: VaultMode?

    init?(argument: String) {
        guard let named = try? NamedMode(argument) else { return nil }
        mode = named.mode
    }

    /// The name.
    var name: String { NamedMode(mode).description }
}
