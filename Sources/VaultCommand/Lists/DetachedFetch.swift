import MediaVault
import VaultService

/// Puts titles into the download queue, which the service works through.
struct DetachedFetch: Sendable {
    let orders: [FetchOrder]
    let naming: TitleNaming
    let options: DownloadOptions
    /// Whether they run before all others.
    let isFirst: Bool
    /// Whether nothing but errors is shown.
    let isQuiet: Bool
    let isJSON: Bool

    /// The most titles that are named one by one at a terminal.
    private static let mostNamed = 20

    /// Queues the titles, and reports what was queued and what could not be.
    func run(_ finder: VaultConnector) async throws {
        let (queued, failed, isServed) = try await Interruption.cancelling("the queue may have changed") {
            try await finder.act { vault in try await queue(in: vault) }
        }
        let isLong = !isJSON && StandardOutput.shared.terminalWidth != nil
        for download in isQuiet && !isJSON ? [] : queued.prefix(isLong ? Self.mostNamed : .max) {
            let line = isJSON ? try JSONText.of(download) : Terminal.printable("\(download.id)  \(download.shownName)")
            try await StandardOutput.shared.write(line + "\n")
        }
        let who = isServed ? "" : "; no service is running, and the next one downloads (mediavault serve)"
        if !isQuiet { await Terminal.shared.say("queued \(Count.of(queued.count, "title"))\(who)") }
        if let failed { throw AlreadyReported(status: failed) }
    }

    private func queue(
        in vault: any VaultClient
    ) async throws -> (queued: [DownloadDocument], failed: ExitStatus?, isServed: Bool) {
        var downloads: [(reference: MediaReference, options: DownloadOptions)] = []
        var failed: ExitStatus?
        for (index, order) in orders.enumerated() {
            do {
                let content = try order.content.get()
                let reference = try await naming.adding(content.fields).reference(to: content.name, in: vault)
                downloads.append((reference, options.naming(content)))
            } catch let error as VaultError {
                let record = await order.failed(error, number: index + 1, of: orders.count)
                failed = failed ?? record.status
            }
        }
        let queued = downloads.isEmpty ? [] : try await vault.queue(downloads, first: isFirst)
        return (queued, failed, vault is RemoteVault)
    }
}
