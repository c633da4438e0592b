import VaultModel

extension Receipt.Act {
    /// The operation's name with its article, for messages, such as `a rotation`.
    public var title: String {
        switch self {
        case .rotate: "a rotation"
        case .rotateRoot: "a change of the root key"
        case .changeLocator: "a change of the locator"
        case .retire: "a retirement"
        case .destroy: "the destruction of the vault"
        case .revokeLinks: "a revocation of links"
        case .addSlot, .removeSlot, .changeSlot: "a change of the slots"
        default: "a \(rawValue)"
        }
    }
}

/// The effect of a key operation, as the commands print it and the table in the article *Keys* lists it.
extension Receipt.Act {
    /// What the operation makes inaccessible; nil if the table does not list the operation.
    public var cutsOff: String? {
        switch self {
        case .rotate: "an older copy of the keyring does not open what is stored from now on"
        case .rewrap: "an older copy of the keyring does not open the rows of this vault's index any more"
        case .retire: "an older copy of the keyring no longer opens anything in this vault's folder"
        case .rotateRoot:
            "the old root key no longer opens the keyring; all playback links and tokens "
                + "are void"
        case .changeLocator: "the old locator key can no longer tell whether this vault has a given URL"
        default: nil
        }
    }

    /// What the operation does not achieve, and what would; nil if the table does not list the operation.
    public var leaves: String? {
        switch self {
        case .rotate:
            "an older copy still opens what is already stored: rewrapping moves that to the new generation, and the "
                + "older ones can then be retired"
        case .rewrap: "the older generations are still in the keyring: retiring destroys them"
        case .retire:
            "an old copy of the folder still opens with a keyring of that time and its key or passphrase; a "
                + "new root key shuts out those who can open today's keyring, a reseal those who have a resource key"
        case .rotateRoot:
            "the old root key still opens what is already stored: rewrapping moves that to the new generation, and "
                + "the older ones can then be retired"
        case .changeLocator: "all other keys stay as they are"
        default: nil
        }
    }
}
