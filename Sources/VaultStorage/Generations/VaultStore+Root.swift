package import VaultCrypto
import VaultModel

extension VaultStore {
    /// Makes a new root key, a new token key and a new generation, in one write of the keyring.
    ///
    /// - Parameters:
    ///   - secrets: what opens the slots that stay.
    ///   - dropsOthers: whether slots that none of them opens go.
    /// - Returns: the number of the new generation.
    /// - Throws: as ``KeyringEdit/renewRoot(openedBy:droppingOthers:now:avoiding:)`` and ``AuditLog/change(_:generation:_:)``.
    package func renewRoot(
        openedBy secrets: [SharedSecret], droppingOthers dropsOthers: Bool, noting log: AuditLog
    ) throws -> Int {
        let taken = try takenGenerations()
        noteChange()
        return try log.change(.rotateRoot) {
            try $0.renewRoot(openedBy: secrets, droppingOthers: dropsOthers, now: now(), avoiding: taken)
        }
    }
}
