package import VaultModel

// Representations that are stored from a file. Nothing reads one before all of it is stored, and a crash leaves none.
extension VaultStore {
    /// Begins the import of a resource: adds the resource if the vault does not have it, and a representation that
    /// nothing reads yet.
    ///
    /// - Parameter make: adds the resource.
    /// - Returns: the resource with that representation, and whether it was added.
    /// - Throws: ``VaultError``: `inUse` if bytes of the resource are held; `diskFull`, `storage`.
    package func beginImport(
        _ id: ResourceID, _ information: ContentInformation, adding make: () throws -> StoredResource
    ) throws -> (resource: StoredResource, isNew: Bool) {
        let known = try index.resource(id)
        if let known { try requireNothingHeld(of: known) }
        // Recorded first, so that the next owner finds a resource of which nothing was stored.
        if known == nil { try changeSettings { $0.unfinishedImports.append(id) } }
        var resource = try known ?? make()
        let sequence = (resource.serving?.info.sequence ?? 0) + 1
        let representation = try StoredRepresentation(NewRepresentation(information), sequence: sequence, now: now())
        noteChange()
        try withDiskSpace { try index.add(representation, to: resource) }
        resource.serving = representation
        return (resource, known == nil)
    }

    /// Makes an import what is read of its resource, in one transaction.
    ///
    /// - Parameters:
    ///   - imported: the resource with the representation that was stored.
    ///   - information: what is known of it by now.
    ///   - change: changes the metadata of the resource.
    /// - Throws: ``VaultError``: `inUse` if other bytes of the resource were stored meanwhile, `removed` if it was
    ///   removed.
    package func finishImport(
        _ imported: StoredResource, _ information: ContentInformation, _ freshness: Freshness?,
        as resourceClass: ResourceClass, _ change: (inout ResourceMetadata) -> Void
    ) throws {
        guard var resource = try index.resource(imported.id), var serving = imported.serving else {
            throw VaultError(.removed, "the resource was removed while it was imported; import it again")
        }
        try requireNothingHeld(of: resource)
        serving.info.information = information
        serving.info.freshness = freshness
        noteChange()
        try withDiskSpace { try index.update(serving.info, of: serving.id, resource: resource) }
        try changeTitles(of: &resource, nil, change)
        try setClass(resourceClass, of: resource.id, only: resourceClass == .pinned ? nil : .cache, isFollowed: true)
        resource.serving = serving
        try serve(&resource)
        try forgetImport(of: resource.id)
    }

    /// Gives an import up: what was stored of it is deleted, and the resource if it was added for it.
    package func dropImport(_ imported: StoredResource, isNew: Bool) throws {
        if let representation = imported.serving?.id {
            try withDiskSpace(orReserve: true) { try index.dropFilling(representation) }
            try removal.finish()
        }
        guard isNew else { return }
        if let resource = try index.resource(imported.id), resource.serving == nil { _ = try remove(imported.id) }
        try forgetImport(of: imported.id)
    }

    /// Removes the resources that an import of the last owner added, and of which nothing is read.
    func dropUnfinishedImports() throws {
        // Settings that do not open are reported when a caller reads them.
        guard let ids = try? index.settings().unfinishedImports, !ids.isEmpty else { return }
        for id in ids {
            if let resource = try? index.resource(id), resource.serving == nil { _ = try index.remove(id) }
        }
        try index.changeSettings { $0.unfinishedImports = [] }
        noteChange()
    }

    private func forgetImport(of id: ResourceID) throws {
        guard try index.settings().unfinishedImports.contains(id) else { return }
        try changeSettings { $0.unfinishedImports.removeAll { $0 == id } }
    }

    /// Requires that nothing would be replaced by an import, before the file is read.
    ///
    /// - Throws: ``VaultError``: `inUse` if bytes of the resource are held; `storage`.
    package func requireNothingHeld(of id: ResourceID) throws {
        if let known = try index.resource(id) { try requireNothingHeld(of: known) }
    }

    private func requireNothingHeld(of resource: StoredResource) throws {
        let held = resource.serving?.held.byteCount ?? 0
        guard resource.place == nil, held == 0 else {
            throw Self.alreadyHeld(held, isWhole: resource.serving?.info.information.length == held)
        }
    }

    /// Returns the error for an import of a title of which bytes are held.
    package static func alreadyHeld(_ bytes: Int64, isWhole: Bool) -> VaultError {
        VaultError(
            .inUse,
            isWhole
                ? "the vault already holds all of this title; remove it first, or leave it as it is"
                : "the vault already holds \(Quantity.readable(bytes: bytes)) of this title; remove it first, or fetch "
                    + "the rest")
    }

    /// Opens a range of a resource's bytes, with the key of each segment.
    ///
    /// - Throws: ``VaultError`` with code `notHeld` if a byte is not held, `integrity` if one does not open, `storage`.
    package func bytes(_ range: ByteRange, of resource: StoredResource) throws -> [UInt8] {
        guard let serving = resource.serving, serving.held.gaps(in: range).isEmpty else {
            throw VaultError(.notHeld, "a range to compare is not held; fetch the title")
        }
        var bytes: [UInt8] = []
        for segment in serving.segments {
            let part = segment.range.clamped(to: range)
            guard !part.isEmpty else { continue }
            do {
                bytes += try reader(of: segment, resource: resource).bytes(part, of: segment)
            } catch let failure as SegmentFailure {
                if case .unreadable(let file) = failure { throw file.vaultError("a segment cannot be read") }
                throw VaultError(.integrity, "bytes to compare do not open; verify the vault", hint: .repair)
            }
        }
        return bytes
    }
}

extension VaultSettings {
    /// The most unfinished imports that are recorded.
    private static let maxImports = 64

    /// The resources that were added for an import which is not finished, the oldest first.
    var unfinishedImports: [ResourceID] {
        get { ((try? members.strings("imports")) ?? []).suffix(Self.maxImports).compactMap { ResourceID(hex: $0) } }
        set {
            let ids = newValue.suffix(Self.maxImports)
            members["imports"] = ids.isEmpty ? nil : .array(ids.map { .string($0.hex) })
        }
    }
}
