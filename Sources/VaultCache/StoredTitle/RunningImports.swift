package import VaultModel
import VaultStorage

/// The running imports, at most one for each resource.
///
/// While an import runs, nothing else is stored for its resource, and players get the resource's bytes unstored.
package final class RunningImports: Sendable {
    private struct State {
        var writers: [ResourceID: ImportWriter] = [:]
        /// The error for new imports; nil if they may begin.
        var refusal: VaultError?
    }

    private let state = Locked(State())

    /// How often a caller that waits for imports checks whether they have ended.
    private static let interval: Duration = .milliseconds(100)

    /// Reserves a resource for an import.
    ///
    /// - Throws: ``VaultError`` with code `inUse` if the resource is already being imported, or the current refusal if
    ///   imports are being refused.
    package func begin(_ id: ResourceID, _ writer: ImportWriter, at url: MediaURL) throws {
        try state.withLock { state in
            if let refusal = state.refusal { throw refusal }
            guard state.writers[id] == nil else {
                throw VaultError(.inUse, "\(url) is being imported already; wait until that import has ended")
            }
            state.writers[id] = writer
        }
    }

    /// Frees a resource whose import has ended.
    package func forget(_ id: ResourceID, _ writer: ImportWriter) {
        // Another import of the resource may have begun since.
        state.withLock { if $0.writers[id] === writer { $0.writers[id] = nil } }
    }

    /// Requires that a resource is not being imported.
    ///
    /// - Throws: ``VaultError`` with code `inUse` if it is.
    func requireNone(of id: ResourceID) throws {
        guard state.withLock({ $0.writers[id] }) == nil else {
            throw VaultError(.inUse, "the title is being imported from a file; try again when that import has ended")
        }
    }

    /// Ends a resource's import, and deletes what the import has stored. Blocks.
    ///
    /// - Returns: whether an import was running.
    func end(_ id: ResourceID, because reason: VaultError) -> Bool {
        state.withLock { $0.writers[id] }?.discard(because: reason) ?? false
    }

    /// Ends all imports and allows no new ones. Blocks.
    func end(because reason: VaultError, refusing refusal: VaultError) {
        let writers = state.withLock { state in
            state.refusal = refusal
            return Array(state.writers.values)
        }
        for writer in writers { _ = writer.discard(because: reason) }
    }

    /// Allows imports again.
    func resume() { state.withLock { $0.refusal = nil } }

    /// Waits until the imports that are running now have ended.
    ///
    /// - Parameter id: the resource whose import to wait for; nil for all imports.
    package func ended(of id: ResourceID? = nil) async throws {
        let running = state.withLock { state in state.writers.filter { id == nil || $0.key == id } }
        while state.withLock({ state in running.contains { state.writers[$0.key] === $0.value } }) {
            try await Task.sleep(for: Self.interval)
        }
    }
}
