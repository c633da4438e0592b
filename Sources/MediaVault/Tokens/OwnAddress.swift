import VaultModel

/// What one of this vault's addresses for players names, and until when.
struct OwnAddress {
    let reference: MediaReference
    /// Seconds since 1970.
    let expires: Int64

    /// What the address means where what it names is another of the vault's addresses.
    func leading(to inner: OwnAddress) -> OwnAddress {
        var reference = reference
        reference.url = inner.reference.url
        reference.contentID = reference.contentID ?? inner.reference.contentID
        reference.principal = reference.principal ?? inner.reference.principal
        reference.isNobodys = reference.isNobodys || inner.reference.isNobodys
        // Whoever gives the address anew has not named what it leads to.
        reference.isDerived = reference.isDerived || inner.reference.isDerived
        return OwnAddress(reference: reference, expires: min(expires, inner.expires))
    }
}
