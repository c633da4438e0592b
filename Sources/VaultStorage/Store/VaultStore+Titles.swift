package import VaultModel

// What is recorded about titles that consist of many resources.
extension VaultStore {
    /// Changes what a resource's metadata records about it as a title, or about the titles that it is a part of.
    ///
    /// - Parameters:
    ///   - resourceClass: the lowest class that the resource may have afterwards; nil for no change.
    ///   - link: the title that the resource joins or leaves, as `change` records it in the metadata; nil for neither.
    package func changeTitles(
        of resource: inout StoredResource, raisingTo resourceClass: ResourceClass? = nil, _ link: TitleLink? = nil,
        _ change: (inout ResourceMetadata) -> Void
    ) throws {
        var metadata = resource.metadata
        change(&metadata)
        noteChange()
        try withDiskSpace { try index.resources.write(metadata, of: resource, raisingTo: resourceClass, link) }
        changes.note(resource.id)
        resource.metadata = metadata
    }

    /// Changes the class of all parts of a title. Parts of another title that is pinned stay pinned.
    ///
    /// - Returns: the parts whose class has changed.
    package func setClass(
        _ resourceClass: ResourceClass, ofPartsOf title: ResourceID, only: ResourceClass? = nil
    ) throws -> [ResourceID] {
        noteChange()
        let ids = try withDiskSpace { try index.titles.setClass(resourceClass, ofPartsOf: title, only: only) }
        for id in ids { changes.note(id) }
        return ids
    }
}
