import VaultCache
import VaultCrypto
import VaultModel
import VaultStorage

/// Replaces the vault's locator key, as ``KeyAdministration/changeLocator()`` describes.
struct ChangeLocatorOperation: Sendable {
    let environment: KeyOperationEnvironment

    func run() async throws -> KeyReport {
        try environment.store.requireOwner(to: "changes its keys")
        let (store, log) = (environment.store, environment.log)
        return try await environment.lock.exclusively(.changeLocator) {
            await environment.loaders.end(with: Self.renamed, refusing: ResourceNames.renaming)
            defer { environment.loaders.resume() }
            let names = environment.loaders.environment.names
            // A running subscription uses ids derived with the old locator until it ends.
            let (unopened, report) = try await environment.subscriptionChanges.exclusively {
                try await environment.downloads.rereading {
                    try await environment.pool.run {
                        let unopened = try LocatorChange(store).run(
                            noting: log,
                            queued: { order, locator in
                                try? names.id(of: order.reference(), locator: locator)
                            },
                            principals: { try Self.principals(in: store, from: $0, to: $1) })
                        return (unopened, try KeyReport(store, act: nil))
                    }
                }
            }
            try await environment.loaders.environment.names.reload()
            guard unopened == 0 else { throw Self.unreadableTitles(unopened) }
            return report
        }
    }

    private static func unreadableTitles(_ count: Int) -> VaultError {
        VaultError(
            .integrity,
            "the locator was changed, but no key opens the rows of \(count) \(count == 1 ? "title" : "titles"), so the "
                + "old ids stay; a repair removes such titles: do that, then change the locator again",
            hint: .repair)
    }

    private static let renamed = VaultError(
        .removed, "the vault's resource ids are being recomputed; open the title again in a moment")

    /// Returns the new names of principals under another locator. A principal keeps its old name if no resource's
    /// stored header fields contain the principal's credentials.
    private static func principals(
        in store: VaultStore, from old: Int, to new: Int
    ) throws -> [[UInt8]: [UInt8]] {
        guard try !store.index.settings().principals.isEmpty else { return [:] }
        var renamed: [[UInt8]: [UInt8]] = [:]
        var last: ResourceID?
        while true {
            let page = try store.index.resources.page(after: last, limit: 64)
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
