import VaultModel
import VaultStorage

// Each call may block. What is written of the resource meanwhile waits, and is sealed under the new key.
extension ResourceRecord {
    /// Gives the resource another key, once in a run.
    ///
    /// - Returns: whether something is left to be sealed anew; nil where the vault does not have the resource.
    func beginReseal(run: Int64) throws -> Bool? {
        try stored.withLock { stored in
            guard var resource = stored else { return nil }
            let isLeft = try store.beginReseal(&resource, run: run)
            stored = resource
            return isLeft
        }
    }

    /// Segments that are to be sealed anew, a page of them.
    func resealTasks(limit: Int) throws -> [ResealTask] {
        guard let resource = stored.withLock({ $0 }) else { return [] }
        return try store.index.resealTasks(of: resource, limit: limit)
    }

    /// Seals a segment anew.
    ///
    /// - Throws: as ``VaultStore/reseal(_:of:)``.
    func reseal(_ task: ResealTask) throws -> [SegmentDescription]? {
        guard let resource = stored.withLock({ $0 }) else { return nil }
        return try store.reseal(task, of: resource)
    }

    /// Segments that are to be joined now; nil where there are none.
    func neighbours(excluding excluded: Set<SegmentID>, isWhole: Bool) throws -> [SegmentDescription]? {
        guard let resource = stored.withLock({ $0 }) else { return nil }
        return try store.neighbours(of: resource, excluding: excluded, isWhole: isWhole)
    }

    /// Joins segments.
    ///
    /// - Throws: as ``VaultStore/join(_:of:)``.
    func join(_ segments: [SegmentDescription]) throws -> SegmentDescription? {
        guard let resource = stored.withLock({ $0 }) else { return nil }
        return try store.join(segments, of: resource)
    }

    /// Lets go of the older keys.
    ///
    /// - Returns: false where something needs one; nil where the vault does not have the resource any more.
    func finishReseal() throws -> Bool? {
        try stored.withLock { stored in
            guard var resource = stored else { return nil }
            defer { stored = resource }
            return try store.finishReseal(&resource)
        }
    }
}
