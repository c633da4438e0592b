package import VaultModel

// What is recorded about titles of many resources.
extension VaultStore {
    /// Changes what is recorded about the titles that a resource is, or is a part of.
    ///
    /// - Parameter resourceClass: the class that it has from now on at least; nil for no change.
    package func changeTitles(
        of resource: inout StoredResource, raisingTo resourceClass: ResourceClass? = nil,
        _ change: (inout ResourceMetadata) -> Void
    ) throws {
        var metadata = resource.metadata
        change(&metadata)
        noteChange()
        try withDiskSpace { try index.write(metadata, of: resource, raisingTo: resourceClass) }
        changes.note(resource.id)
        resource.metadata = metadata
    }

    /// Changes the class of several resources together.
    package func setClass(_ resourceClass: ResourceClass, of ids: [ResourceID], only: ResourceClass? = nil) throws {
        noteChange()
        try withDiskSpace { try index.setClass(resourceClass, of: ids, only: only) }
        for id in ids { changes.note(id) }
    }
}
