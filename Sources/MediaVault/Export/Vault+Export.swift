import VaultModel
import VaultStorage

extension Vault {
    /// Writes a resource's plaintext into a file: all of it or no file.
    ///
    /// Only what the index says is held is written; no origin is asked, and no ownership is needed. The file is its
    /// owner's alone (0600), and it has its name only when it is whole and durable. Nothing is left of one that is
    /// cancelled.
    ///
    /// - Parameters:
    ///   - path: the absolute path of the file.
    ///   - replacing: whether a file of that name is replaced.
    ///   - progress: is told how far it is, ten times a second at most, and at the end.
    /// - Throws: ``VaultError``: `notHeld` with `firstMissing` where bytes are missing, `integrity` where some are
    ///   damaged, `invalidArgument` where the name is taken, `diskFull`, `storage`.
    public func export(
        _ reference: MediaReference, to path: String, replacing: Bool = false,
        progress: (ExportProgress) async -> Void = { _ in }
    ) async throws {
        try await export(reference, to: path, replacing: replacing, on: PosixFileSystem(), progress: progress)
    }

    func export(
        _ reference: MediaReference, to path: String, replacing: Bool = false, on fileSystem: any FileSystem,
        progress: (ExportProgress) async -> Void
    ) async throws {
        let store = store
        let id = try await name(reference).id
        var source = try await pool.run { try ExportSource(store, id, reference.url) }
        let file = try await pool.run { try ExportFile(path, replacing: replacing, fileSystem: fileSystem) }
        do {
            var position: Int64 = 0
            var lastTold: ContinuousClock.Instant?
            while position < source.length {
                try Task.checkCancellation()
                if lastTold.map({ .now - $0 >= .milliseconds(100) }) ?? true {
                    lastTold = .now
                    await progress(ExportProgress(written: position, total: source.length))
                }
                let (from, here) = (source, position)
                (source, position) = try await pool.run {
                    var source = from
                    let bytes = try source.bytes(at: here, of: store)
                    try file.write(bytes, at: here)
                    return (source, here + Int64(bytes.count))
                }
            }
            try Task.checkCancellation()
            try await pool.run { try file.finish() }
            await progress(ExportProgress(written: source.length, total: source.length))
        } catch {
            try? await pool.run { file.abandon() }
            throw error
        }
    }
}
