package import VaultModel

// What is recorded about titles of many resources.
extension VaultStore {
    /// Changes what is recorded about the titles that a resource is, or is a part of.
    ///
    /// - Parameters:
    ///   - resourceClass: the lowest class that it may have afterwards; nil for no change.
    ///   - link: the title that it joins or leaves, as `change` records in the metadata; nil for neither.
    package func changeTitles(
        of resource: inout StoredResource, raisingTo resourceClass: ResourceClass? = nil, _ link: TitleLink? = nil,
        _ change: (inout ResourceMetadata) -> Void
    ) throws {
        var metadata = resource.metadata
        change(&metadata)
        noteChange()
        try withDiskSpace { try index.write(metadata, of: resource, raisingTo: resourceClass, link) }
        changes.note(resource.id)
        resource.metadata = metadata
    }

    /// Changes the class of the parts of a title together. Parts of another title that is pinned stay pinned.
    ///
    /// - Returns: the parts that have changed.
    package func setClass(
        _ resourceClass: ResourceClass, ofPartsOf title: ResourceID, only: ResourceClass? = nil
    ) throws -> [ResourceID] {
        noteChange()
        let ids = try withDiskSpace { try index.setClass(resourceClass, ofPartsOf: title, only: only) }
        for id in ids { changes.note(id) }
        return ids
    }
}
