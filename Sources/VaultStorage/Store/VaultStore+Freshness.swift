package import VaultModel

// What is written down of a resource beside its bytes.
extension VaultStore {
    /// Writes down that the serving representation was found to be current.
    package func confirm(_ freshness: Freshness, of resource: inout StoredResource) throws {
        guard var serving = resource.serving else { return }
        serving.info.freshness = freshness
        noteChange()
        try withDiskRoom { try index.update(serving.info, of: serving.id, resource: resource) }
        resource.serving = serving
    }

    /// Gives a resource a mode of its own, or takes it back.
    package func setMode(_ mode: String?, of resource: inout StoredResource) throws {
        var metadata = resource.metadata
        metadata.mode = mode
        noteChange()
        try withDiskRoom { try index.write(metadata, of: resource) }
        changes.note(resource.id)
        resource.metadata = metadata
    }
}
