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
