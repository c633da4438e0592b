package import MediaVault
import NIOCore
import NIOHTTP1
import VaultModel

// Importing a file that this process reads and that the service stores.
extension RemoteVault {
    package func importFile(
        _ source: any ImportSource & Sendable, as reference: MediaReference, _ options: ImportOptions,
        progress: (ImportProgress) async -> Void
    ) async throws -> ImportReport {
        // The options are checked here first, so that the user does not wait for an upload that the service would
        // refuse.
        try options.check(for: reference.url, fileType: source.type, held: try await resource(reference))
        let (steps, told) = AsyncStream.makeStream(of: ImportProgress.self, bufferingPolicy: .bufferingNewest(1))
        let order = ImportOrder(reference, ImportDetails(source, options))
        async let report: ImportReport = send(source, as: order, telling: told)
        for await step in steps { await progress(step) }
        return try await report
    }

    private func send(
        _ source: any ImportSource & Sendable, as order: ImportOrder,
        telling told: AsyncStream<ImportProgress>.Continuation
    ) async throws -> ImportReport {
        defer { told.finish() }
        let line = try JSONText.bytes(of: order) + [UInt8(ascii: "\n")]
        let total = source.length
        let sent = Locked<Int64?>(nil)
        return try await upload(ControlRequest(.POST, .imports, bytes: Int64(line.count) + total)) {
            guard let stored = sent.withLock({ $0 }) else {
                sent.withLock { $0 = 0 }
                return line
            }
            told.yield(ImportProgress(stored: stored, total: total))
            let bytes = try await source.next()
            sent.withLock { $0 = stored + Int64(bytes?.count ?? 0) }
            return bytes
        }
    }
}
