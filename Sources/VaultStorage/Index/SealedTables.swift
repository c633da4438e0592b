import VaultModel

// The declarations of all sealed tables.
extension SealedTable {
    /// The vault's settings, in the vault's own row.
    static let settings = SealedTable(
        name: "vault", column: "settings", title: "settings", statement: IndexSchema.vault,
        idByteCount: VaultKind.byteCount, maxBytes: VaultRow.maxBytes, maxCount: 1,
        tooLarge: "the vault's settings are too large; remove some of the rules",
        isRecord: { VaultSettings($1) != nil })
    /// The settings for reaching origins. They have a row of their own because they may be large, and the other
    /// settings are sealed again whenever bytes are stored.
    static let network = SealedTable(
        name: "network", title: "network settings", statement: IndexSchema.network, idByteCount: VaultKind.byteCount,
        // If all network settings are at their limits, they take a quarter of this.
        maxBytes: 4 << 20, maxCount: 1, isSecret: true,
        tooLarge: "the network settings are too large; leave some out", isRecord: { _, _ in true })
    /// The tokens, named links and sessions that the vault has issued. None is accepted without its row.
    static let grants = SealedTable(
        name: "accessGrant", title: "tokens, links and sessions", statement: IndexSchema.accessGrant,
        idByteCount: GrantKind.byteCount, maxBytes: 64 << 10, maxCount: 2 * AccessGrant.maxCount,
        tooLarge: "the record of a token or of named links is too long; shorten the URL",
        isRecord: { id, members in GrantID(bytes: id).flatMap { AccessGrant(id: $0, members) } != nil })
    /// The entries of the download queue.
    static let downloads = SealedTable(
        name: "download", title: "entries of the download queue", statement: IndexSchema.download,
        idByteCount: DownloadKind.byteCount, maxBytes: 1 << 20, maxCount: 2 * QueuedDownload.most,
        tooLarge: "the request fields of a download are too long; leave some out",
        isRecord: { id, members in DownloadID(bytes: id).flatMap { QueuedDownload($0, members) } != nil })
    /// The feeds and lists of titles that the vault follows.
    static let subscriptions = SealedTable(
        name: "subscription", title: "subscriptions", statement: IndexSchema.subscription,
        idByteCount: SubscriptionKind.byteCount, maxBytes: 1 << 20, maxCount: 2 * MediaSubscription.maxCount,
        tooLarge: "the subscription has too many titles; want fewer of the newest",
        isRecord: { id, members in SubscriptionID(bytes: id).flatMap { MediaSubscription($0, members) } != nil })
    static let viewers = SealedTable(
        name: "viewer", title: "viewers", statement: IndexSchema.viewer, idByteCount: ViewerKind.byteCount,
        maxBytes: 16 << 10, maxCount: 2 * Viewer.maxCount, isSecret: true,
        tooLarge: "the record of a viewer is too large; shorten the name",
        isRecord: { id, members in ViewerID(bytes: id).flatMap { Viewer(id: $0, members) } != nil })
    /// The viewers with whom titles are shared: one row for each shared title. The row has the title's resource id, and
    /// is deleted with the title.
    static let shares = SealedTable(
        name: "share", title: "shares of titles", statement: IndexSchema.share, idByteCount: ResourceKind.byteCount,
        maxBytes: 16 << 10, maxCount: 1_000_000, isOfResource: true,
        tooLarge: "the title is shared with too many viewers; share it with fewer",
        isRecord: { TitleShare($1) != nil })
    /// The playback positions: one row for each viewer, and one for the owner under the vault's id.
    static let positions = SealedTable(
        name: "position", title: "positions of viewers", statement: IndexSchema.position,
        idByteCount: ViewerKind.byteCount, maxBytes: 1 << 20, maxCount: 2 * Viewer.maxCount,
        tooLarge: "the positions of a viewer are too many; they are not kept",
        isRecord: { PlaybackPositions($1) != nil })

    /// All sealed tables. There is no other list of them.
    static let all = [settings, network, grants, downloads, subscriptions, viewers, shares, positions]

    /// The tables whose rows consist of an id and a sealed record: all tables but the one that holds the settings.
    static let own = all.filter { $0.name != settings.name }
}
