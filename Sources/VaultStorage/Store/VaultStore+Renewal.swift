package import VaultModel

extension VaultStore {
    /// Writes down by which URL, and with which fields, a resource was last fetched.
    package func renew(_ resource: inout StoredResource, url: String, fields: OriginFields?, isDerived: Bool = false) throws {
        var metadata = resource.metadata
        metadata.url = url
        metadata.fields = fields
        metadata.isDerived = isDerived
        try index.write(metadata, of: resource)
        noteChange()
        resource.metadata = metadata
    }
}
