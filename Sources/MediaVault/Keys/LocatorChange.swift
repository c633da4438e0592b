import VaultCrypto
import VaultModel
import VaultStorage

extension Vault {
    /// Gives the vault a fresh locator key: every resource id is computed anew, and who knows the old key cannot tell any
    /// more whether the vault has a given URL. What was broken off is finished.
    ///
    /// Readers and downloads end with code `removed`, and what is opened meanwhile is refused with code `busy`: afterwards
    /// everything is found by its URL as before. Where resources are stored for single users, all playback addresses and
    /// the admin token are void.
    ///
    /// - Returns: how the keys stand now.
    /// - Throws: ``VaultError`` with code `integrity` where the settings do not open, or some titles do not, and keep the ids
    ///   that they have while all others have new ones; `busy`, `owned`, `storage`,
    ///   `diskFull`.
    public func changeLocator() async throws -> KeyReport {
        try requireOwner(to: "changes its keys")
        let (store, log) = (store, auditLog)
        return try await keyWork.exclusively(.changeLocator) {
            await endLoaders(with: Self.renamed, refusing: Self.renaming)
            defer { refusal.withLock { $0 = nil } }
            let (unopened, report) = try await pool.run {
                let unopened = try store.changeLocator(noting: log) {
                    try Self.principals(in: store, from: $0, to: $1)
                }
                return (unopened, try KeyReport(store, act: nil))
            }
            try await names.reload()
            guard unopened == 0 else { throw Self.unrenamed(unopened) }
            return report
        }
    }

    private static func unrenamed(_ count: Int) -> VaultError {
        VaultError(
            .integrity,
            "the locator is another, but \(count) titles do not open and keep the ids of the old one: make the index "
                + "anew with index rebuild, or remove the titles that list cannot name, and run it again")
    }

    private static let renamed = VaultError(
        .removed, "the vault's resource ids are being computed anew; open it again in a moment")

    /// What is refused while ids are computed anew.
    static let renaming = VaultError(
        .busy, "the vault's resource ids are being computed anew; try again in a moment")

    /// The names that principals have under another locator. Whose credentials no resource keeps has the old one still.
    private static func principals(
        in store: VaultStore, from old: Int, to new: Int
    ) throws -> [[UInt8]: [UInt8]] {
        guard try !store.index.settings().principals.isEmpty else { return [:] }
        var renamed: [[UInt8]: [UInt8]] = [:]
        var last: ResourceID?
        while true {
            let page = try store.index.resources(after: last, limit: 64)
            for case let metadata? in page.map(\.resource?.metadata) {
                guard let principal = CacheKey(bytes: metadata.cacheKey).principal, renamed[principal] == nil,
                    let fields = metadata.fields?.fields, let identity = Identity.bytes(of: fields),
                    store.keyring.principal(identity, locator: old) == principal
                else { continue }
                renamed[principal] = store.keyring.principal(identity, locator: new)
            }
            guard let end = page.last else { return renamed }
            last = end.id
        }
    }
}
