/// Why bytes are handed on without being stored.
public enum StoreRefusal: String, Sendable {
    /// The vault's own limits leave no room.
    case room
    /// The disk is full.
    case diskFull = "disk-full"
    /// The store failed otherwise.
    case store
    /// The origin says nothing that tells one version from another, and others read what came by another connection.
    case unverifiable = "no-validator"
    /// The mode is ``VaultMode/noStore``.
    case mode = "no-store"

    init(_ error: VaultError) {
        self =
            switch error.code {
            case .noRoom: .room
            case .diskFull: .diskFull
            default: .store
            }
    }
}
