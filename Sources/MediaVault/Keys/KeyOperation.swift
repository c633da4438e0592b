import VaultModel

extension Receipt.Act {
    /// The command that runs the operation, for messages: `keys rotate --root`.
    package var command: String {
        switch self {
        case .shred: "shred"
        case .rotateRoot: "keys rotate --root"
        case .changeLocator: "keys rotate --locator"
        case .addSlot: "keys slot add"
        case .removeSlot: "keys slot remove"
        case .changeSlot: "keys change-passphrase"
        default: "keys \(rawValue)"
        }
    }
}

/// The effect of a key operation, as the commands print it and the table in the article *Keys* lists it.
extension Receipt.Act {
    /// What is no longer accessible after the operation; nil if the table does not list the operation.
    package var cutsOff: String? {
        switch self {
        case .rotate: "an older copy of the keyring does not open what is stored from now on"
        case .rewrap: "an older copy of the keyring does not open the rows of this vault's index any more"
        case .retire: "an older copy of the keyring no longer opens anything in this vault's folder"
        case .rotateRoot:
            "the old root key no longer opens the keyring; all playback links and the admin token "
                + "are void"
        case .changeLocator: "the old locator key can no longer tell whether this vault has a given URL"
        default: nil
        }
    }

    /// What the operation does not do, and what would; nil if the table does not list the operation.
    package var leaves: String? {
        switch self {
        case .rotate:
            "what is already stored stays under the older generations: keys rewrap moves it, keys retire destroys them"
        case .rewrap: "the older generations are still in the keyring: keys retire destroys them"
        case .retire:
            "an old copy of the folder still opens with a keyring of that time and its key or passphrase; keys "
                + "rotate --root shuts out those who can open today's keyring, a reseal those who have a resource key"
        case .rotateRoot:
            "what is already stored stays under the older generations, which the old root key opens: keys rewrap moves "
                + "it, keys retire destroys them"
        case .changeLocator: "all other keys stay as they are"
        default: nil
        }
    }
}
