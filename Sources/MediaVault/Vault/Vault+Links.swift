import VaultModel

// Links that expire.
extension Vault {
    /// Sets what finds a new link to a title whose origin refuses the one that the vault has, as for a signed URL that
    /// has expired; nil for nothing.
    ///
    /// Only titles with a ``MediaReference/contentID`` are refreshed, because their name does not depend on the URL. What
    /// is held of the title stays held: the origin is asked for the rest only of the same representation. The new link is
    /// sealed with the title once the origin has accepted it, and used from then on.
    public func setLinkRefresher(_ refresher: LinkRefresher?) { loaders.environment.refresher.use(refresher) }
}
