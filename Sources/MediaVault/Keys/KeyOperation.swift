import VaultModel

extension Receipt.Act {
    /// The command that does it, by which people are told of it: `keys rotate --root`.
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

/// What an act on the keys is good for: the words that the commands say, as the table in the article *Keys* has them.
extension Receipt.Act {
    /// Who is shut out from what when it is done; nil where the table does not name it.
    package var cutsOff: String? {
        switch self {
        case .rotate: "an older copy of the keyring does not open what is stored from now on"
        case .rewrap: "an older copy of the keyring does not open the rows of this vault's index any more"
        case .retire: "an older copy of the keyring opens nothing that stands in this vault's folder any more"
        case .rotateRoot:
            "who knows the old root key does not open the keyring any more; all playback addresses and the admin token "
                + "are void"
        case .changeLocator: "who knows the old locator key cannot tell any more whether this vault has a given URL"
        default: nil
        }
    }

    /// What it does not do, and what would; nil where the table does not name it.
    package var leaves: String? {
        switch self {
        case .rotate:
            "what is stored already stays under the older generations: keys rewrap moves it, keys retire destroys them"
        case .rewrap: "the older generations are still in the keyring: keys retire destroys them"
        case .retire:
            "what somebody copied together with a keyring of that time and what unlocks it stays open to them; who can "
                + "read today's keyring is shut out by keys rotate --root, who has single resource keys by a reseal"
        case .rotateRoot:
            "what is stored already stays under the older generations, which the old root key opens: keys rewrap moves "
                + "it, keys retire destroys them"
        case .changeLocator: "every other key is what it was"
        default: nil
        }
    }
}
