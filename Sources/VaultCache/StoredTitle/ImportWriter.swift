package import VaultModel
package import VaultStorage

/// Seals an import's bytes into segments. Its calls block.
///
/// Other code can end an import at any time, even while the import waits for the file; nothing is stored afterwards.
package final class ImportWriter: Sendable {
    private let store: VaultStore
    private let length: Int64
    private let work = Locked(Work())

    private struct Work: ~Copyable {
        /// The resource with its durable segments; nil before the import begins.
        var resource: StoredResource?
        /// The segments that the index does not list as held yet.
        var unlisted: [SegmentID] = []
        var writer: SegmentWriter?
        /// One past the last byte written.
        var end: Int64 = 0
        /// Why the import has failed or was ended, after which nothing is stored; nil until then.
        var failure: VaultError?
        var isFinished = false
    }

    /// Creates a writer for one import.
    ///
    /// - Parameter length: the size of the imported file in bytes.
    package init(length: Int64, in store: VaultStore) { (self.length, self.store) = (length, store) }

    /// Why the import has failed or was ended by other code; nil if neither has happened.
    package var failure: VaultError? { work.withLock { $0.failure } }

    /// Begins the import with the resource that the store creates.
    package func begin(_ make: () throws -> StoredResource) throws {
        try work.withLock { work in
            if let failure = work.failure { throw failure }
            work.resource = try make()
        }
    }

    /// Appends bytes; makes each segment durable when it is full.
    ///
    /// - Returns: the number of bytes appended so far.
    package func append(_ bytes: [UInt8]) throws -> Int64 {
        try work.withLock { work in
            var rest = bytes[...]
            while !rest.isEmpty {
                let estimate = WriteEstimate(length: length, expected: max(0, length - work.end))
                if work.writer?.capacity ?? 0 == 0 {
                    try close(&work)
                    let resource = try resource(&work)
                    work.writer = try store.imports.beginSegment(at: work.end, of: resource, estimate) {
                        work.unlisted.append($0)
                    }
                }
                let some = rest.prefix(Int(min(work.writer?.capacity ?? 0, Int64(rest.count))))
                try work.writer?.append(some, in: store, estimate)
                work.end += Int64(some.count)
                rest = rest.dropFirst(some.count)
            }
            return work.end
        }
    }

    /// Makes all appended bytes durable.
    ///
    /// - Returns: the resource with all its segments.
    package func close() throws -> StoredResource {
        try work.withLock { work in
            try close(&work)
            return try resource(&work)
        }
    }

    private func resource(_ work: inout Work) throws -> StoredResource {
        if let failure = work.failure { throw failure }
        guard let resource = work.resource else {
            throw VaultError(.storage, "the import has not begun; import the file again")
        }
        return resource
    }

    private func close(_ work: inout Work) throws {
        if let failure = work.failure { throw failure }
        guard let writer = work.writer.take() else { return }
        work.resource?.serving?.segments.append(try store.imports.closeSegment(writer))
    }

    /// Makes the resource serve the imported bytes. If this throws, nothing has changed.
    ///
    /// - Returns: the changed resource.
    package func finish(
        _ information: ContentInformation, _ freshness: Freshness?, _ change: (inout ResourceMetadata) -> Void
    ) throws -> StoredResource {
        try work.withLock { work in
            var resource = try resource(&work)
            resource.serving?.info.information = information
            resource.serving?.info.freshness = freshness
            let stored = try store.imports.finish(resource, change)
            work.isFinished = true
            return stored
        }
    }

    /// Ends the import and deletes what it wrote, unless it is finished or has already failed.
    ///
    /// - Parameter reason: why other code ends the import; nil if it failed by itself.
    /// - Returns: whether this call ended the import.
    @discardableResult
    package func discard(because reason: VaultError? = nil) -> Bool {
        work.withLock { work in
            guard !work.isFinished, work.failure == nil else { return false }
            work.failure =
                reason.map {
                    VaultError($0.code, "the import was ended, and nothing of it is stored: \($0.message)")
                } ?? VaultError(.storage, "the import has failed; import the file again")
            _ = work.writer.take()
            // Whatever cannot be deleted now is deleted by the next owner at the latest.
            try? store.imports.drop(work.unlisted)
            return true
        }
    }
}
