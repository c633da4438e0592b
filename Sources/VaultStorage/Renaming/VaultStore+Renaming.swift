import VaultCrypto
import VaultModel

extension VaultStore {
    /// Gives the vault a fresh locator: every resource id is computed anew. What was broken off is finished.
    ///
    /// The keyring has the new locator before the index names it, and drops the old one when nothing of the index stands
    /// under it any more. Nobody may hold a ``StoredResource`` meanwhile.
    ///
    /// - Parameter principals: those that have another name under the new locator, given the old and the new one.
    /// - Returns: how many resources do not open, and keep the id that they have.
    package func changeLocator(
        noting log: AuditLog, principals: (_ old: Int, _ new: Int) throws -> [[UInt8]: [UInt8]]
    ) throws -> Int {
        var unopened = 0
        if keyring.locators == [index.locator] { _ = try changeKeyring(at: log.place) { try $0.addLocator() } }
        let (old, new) = (index.locator, keyring.newestLocator)
        if new != old {
            let renamed = try principals(old, new)
            noteChange()
            unopened = try withDiskRoom {
                try index.rename(
                    under: new, cacheKey: { Self.renamed($0.cacheKey, renamed) },
                    changing: { $0.rename(principals: renamed) })
            }
        }
        try eraseKeyCopies(after: "every resource has another id, but the old ones")
        let hasPrincipals = try !index.settings().principals.isEmpty
        try log.change(.changeLocator, outcome: unopened == 0 ? .done : .partly) { edit in
            edit.dropLocators(except: new)
            // An address that carries a principal would name a resource that nobody has stored.
            if hasPrincipals { edit.document.tokenEpoch += 1 }
        }
        return unopened
    }

    /// A cache key whose principal has another name. A name holds no zero byte.
    private static func renamed(_ cacheKey: [UInt8], _ principals: [[UInt8]: [UInt8]]) -> [UInt8] {
        guard let end = cacheKey.firstIndex(of: 0),
            let principal = principals[Array(cacheKey[(end + 1)...])]
        else { return cacheKey }
        return cacheKey[...end] + principal
    }
}
