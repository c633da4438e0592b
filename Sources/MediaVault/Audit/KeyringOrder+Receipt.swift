import VaultCrypto
import VaultModel

extension KeyringOrder.Act {
    /// What the audit log calls it.
    var receipt: Receipt.Act {
        switch self {
        case .add: .addSlot
        case .replace: .changeSlot
        case .remove: .removeSlot
        case .backup: .backup
        }
    }
}
