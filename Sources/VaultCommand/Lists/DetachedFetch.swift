import MediaVault
import VaultService

/// Puts either all of the given titles or none of them into the download queue, which a service works through.
struct DetachedFetch: Sendable {
    let orders: [FetchOrder]
    let naming: TitleNaming
    let options: DownloadOptions
    /// The picture to set as the title's cover, if there is only one title; nil for none.
    var cover: [UInt8]?
    /// Whether to run these downloads before all others in the queue.
    let isFirst: Bool
    /// Whether to show only errors.
    let isQuiet: Bool
    let isJSON: Bool

    /// The maximum number of titles listed individually at a terminal.
    private static let mostNamed = 20

    /// Queues the titles, and reports either the queued titles, or the reasons why none could be queued.
    func run(_ connector: VaultConnector) async throws {
        let (queued, failed, isServed) = try await connector.acting(ifInterrupted: "the queue may have changed") {
            vault in try await queue(in: vault)
        }
        if let failed {
            if orders.count > 1 { await Terminal.shared.say("nothing was queued: correct the list, and try again") }
            throw AlreadyReported(status: failed)
        }
        let isLong = !isJSON && StandardOutput.shared.terminalWidth != nil
        for download in isQuiet && !isJSON ? [] : queued.prefix(isLong ? Self.mostNamed : .max) {
            let line = isJSON ? try JSONText.of(download) : Terminal.printable("\(download.id)  \(download.shownName)")
            try await StandardOutput.shared.write(line + "\n")
        }
        let who =
            isServed
            ? ""
            : "; no service is running; the next one will download \(queued.count == 1 ? "it" : "them") (mediavault serve)"
        if !isQuiet { await Terminal.shared.say("queued \(Count.of(queued.count, "title"))\(who)") }
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
        let queued = failed == nil ? try await vault.queue(downloads, first: isFirst) : []
        if let cover, let title = queued.first?.id { try await vault.setCover(cover, ofQueued: title) }
        return (queued, failed, vault is RemoteVault)
    }
}
