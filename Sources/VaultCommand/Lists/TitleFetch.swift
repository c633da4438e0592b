import Foundation
import MediaVault
import VaultService

/// The fetch of one title, with the output that the user sees.
struct TitleFetch: Sendable {
    let order: FetchOrder
    let naming: TitleNaming
    /// The position of the title among ``count``, from 1.
    let number: Int
    let count: Int
    let options: DownloadOptions
    /// The picture to set as the title's cover once the title is fetched; nil for none.
    let cover: [UInt8]?
    /// The display of the progress of all titles; nil if each title has its own display.
    let total: ListProgress?
    /// Whether to show only errors.
    let isQuiet: Bool
    /// Whether to look up the title in the vault for its record. If not, the record may be built from the progress.
    let isRecorded: Bool

    /// Fetches the title. A failure is reported and recorded, so that the next title can be fetched.
    ///
    /// - Parameter arrived: called when all bytes have arrived, although they may not be durable yet.
    /// - Returns: the record, or an error that ends the fetch of all titles, such as cancellation.
    func result(
        in vault: any VaultClient, arrived: @Sendable () -> Void
    ) async -> Result<FetchedRecord, any Error> {
        do {
            let record = try await run(in: vault, arrived: arrived)
            await total?.end(number, bytes: record.bytes)
            return .success(record)
        } catch {
            return .failure(error)
        }
    }

    private func run(in vault: any VaultClient, arrived: @Sendable () -> Void) async throws -> FetchedRecord {
        var reference: MediaReference?
        do {
            let content = try order.content.get()
            let named = try await naming.adding(content.fields).reference(to: content.name, in: vault)
            let title = content.reference ?? named
            reference = title
            let options = options.naming(content)
            let (hadAll, last) = try await download(title, options, into: vault, arrived: arrived)
            if let cover { try await vault.setCover(cover, of: title) }
            if let last, last.isComplete, last.manifest == nil, !isRecorded, !isShownAlone {
                return FetchedRecord(order.text, last)
            }
            let summary = try await vault.resource(title)
            if !isQuiet { await tell(of: summary, title, hadAll: hadAll) }
            return FetchedRecord(order.text, summary)
        } catch let error as VaultError {
            try Task.checkCancellation()
            // The report states what is held now rather than the last progress. For a malformed URL, there is neither.
            let summary = if let reference { try? await vault.resource(reference) } else { nil as ResourceSummary? }
            return await order.failed(
                error, number: number, of: count, holding: summary, Self.missing(summary, after: error))
        }
    }

    private func tell(of summary: ResourceSummary?, _ reference: MediaReference, hadAll: Bool) async {
        if hadAll, let summary {
            let size = ByteCount.text(summary.wholeBytes)
            await Terminal.shared.say("\(name(of: reference.url, summary)): already complete, \(size)")
        }
        guard let title = summary?.title, let selection = options.selection else { return }
        for note in TitleText.languageNotes(title, asked: selection) { await Terminal.shared.say(note) }
    }

    /// Fetches the missing bytes, and shows the progress.
    ///
    /// - Returns: whether nothing was missing, which is always false unless the title is shown alone, and the last
    ///   progress.
    private func download(
        _ reference: MediaReference, _ options: DownloadOptions, into vault: any VaultClient,
        arrived: @Sendable () -> Void
    ) async throws -> (hadAll: Bool, last: DownloadProgress?) {
        let known = isShownAlone || isNamedByID ? try await vault.resource(reference) : nil
        var hadAll = isShownAlone && known?.isWhole == true
        var last: DownloadProgress?
        let name = name(of: reference.url, known)
        var display = isShownAlone ? ProgressDisplay(name) : nil
        await total?.begin(number, name)
        try await vault.download(reference, options) { step in
            last = step
            if step.isComplete { arrived() }
            // Even a complete title is fetched again if it has changed at its origin.
            hadAll = hadAll && step.held == step.total
            if !hadAll { await display?.show(TransferProgress(held: step.held, total: step.total)) }
            await total?.show(number, TransferProgress(held: step.held, total: step.total))
        }
        await display?.end()
        return (hadAll, last)
    }

    /// Whether the title's progress is shown on lines of its own.
    private var isShownAlone: Bool { total == nil && !isQuiet }

    /// Returns text that states how many bytes the origin did not send. It is empty for the store's errors, whose
    /// messages already state this.
    private static func missing(_ summary: ResourceSummary?, after error: VaultError) -> String {
        guard ExitStatus(error.code) == .origin, let summary, let size = summary.size, size > summary.bytes
        else { return "" }
        return "; \(ByteCount.text(size - summary.bytes)) of \(ByteCount.text(size)) are missing"
    }

    /// Whether the user named the title by its id, which does not describe the title.
    private var isNamedByID: Bool { (try? order.content.get().name.id) != nil }

    /// Returns a title's display name, preceded by its position if there are several titles. The name is the given one,
    /// else the vault's name if the user named the title by its id, else the last part of its path.
    private func name(of url: MediaURL, _ summary: ResourceSummary?) -> String {
        let stated = options.name ?? (try? order.content.get().title) ?? (isNamedByID ? summary?.name : nil)
        let last = url.path.split(separator: "/").last.map { $0.removingPercentEncoding ?? String($0) }
        let name = stated ?? last ?? url.host
        return count > 1 && total == nil ? "\(number)/\(count) \(name)" : name
    }
}

extension DownloadOptions {
    /// Returns the options with the picture that a list states for the title, and with the name that it states unless
    /// the options already have a name.
    func naming(_ content: FetchOrder.Content) -> DownloadOptions {
        var options = self
        options.name = name ?? content.title.map { String($0.prefix(Self.maxNameLength)) }
        (options.picture, options.published) = (content.picture, content.published)
        return options
    }
}
