import VaultCrypto

extension ResourceMetadata {
    /// The mode that the resource has for itself, by name; nil where it has the vault's.
    package var mode: String? {
        get {
            guard case .string(let name)? = members["mode"] else { return nil }
            return name
        }
        set { members["mode"] = newValue.map { .string($0) } }
    }
}
