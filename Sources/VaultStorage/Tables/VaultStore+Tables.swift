// The tables, each with what has to be counted, erased or reported when its rows change.
extension VaultStore {
    /// The resources: what is recorded about them apart from their segments.
    package var resources: ResourceTable { ResourceTable(store: self) }
    /// The imports.
    package var imports: Imports { Imports(store: self) }
    /// The download queue.
    package var downloads: DownloadRows { DownloadRows(store: self) }
    /// The subscriptions.
    package var subscriptions: SubscriptionRows { SubscriptionRows(store: self) }
    /// The pictures that are set for titles.
    package var covers: CoverRows { CoverRows(store: self) }
    /// The tokens, sessions and named links that the vault has issued.
    package var grants: GrantRows { GrantRows(store: self) }
    /// The viewers, the titles shared with them, and their playback positions.
    package var viewers: ViewerRows { ViewerRows(store: self) }
}
