package import MediaVault

/// A mode by its name: one of the library's, or none of its own, which is `default`.
package struct NamedMode: Hashable, Sendable, CustomStringConvertible {
    /// Nil is none.
    package let mode: VaultMode?

    private static let none = "default"

    /// All names.
    package static let names = (VaultMode.allCases.map(\.rawValue) + [none]).joined(separator: ", ")

    /// - Throws: ``VaultError`` with code `invalidArgument`.
    package init(_ name: String) throws {
        mode = VaultMode(rawValue: name)
        guard mode != nil || name == Self.none else {
            throw VaultError(.invalidArgument, "there is no such mode; name one of \(Self.names)")
        }
    }

    package init(_ mode: VaultMode?) { self.mode = mode }

    package var description: String { mode?.rawValue ?? Self.none }
}
