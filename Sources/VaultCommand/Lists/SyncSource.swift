import MediaVault
import VaultModel
import VaultService

/// The list that an argument of `sync` names, which is either a feed, named by its URL, or a file.
struct SyncSource: Sendable {
    let source: MediaSubscription.Source
    /// The file's contents; nil for a feed.
    let file: File?

    /// The contents of a list file.
    struct File: Sendable {
        var entries: [SyncEntry] = []
        /// The titles on the lines of a file that is not a feed, including unusable lines.
        var orders: [FetchOrder] = []
        var unusable = 0
        /// The faults of a feed file that were repaired while reading it.
        var repairs: [String] = []
    }

    /// The maximum length of a file in bytes.
    private static let maxBytes = 8 << 20

    /// Parses an argument, and reads the file if it names one.
    ///
    /// - Parameters:
    ///   - name: the name under which a list on standard input is remembered.
    ///   - newest: the number of newest titles to fetch; nil for all titles.
    static func read(_ argument: String, name: String?, newest: Int?) async throws -> SyncSource {
        if argument.contains("://") {
            _ = try MediaURL(argument)
            return SyncSource(source: .feed(argument), file: nil)
        }
        guard argument != ListReader.standardInput || name != nil else {
            throw UsageError(
                "a list on standard input needs a name, under which its titles are remembered; give --name")
        }
        let bytes = try await ListReader.bytes(of: argument, atMost: maxBytes)
        guard bytes.count <= maxBytes else {
            throw UsageError("\(argument) is longer than 8 MiB; split it into several lists")
        }
        let isInput = argument == ListReader.standardInput
        let path = try ProcessEnvironment.current.absolute(argument)
        let file = try File(bytes, isInput ? "standard input" : argument, newest: newest)
        return SyncSource(source: .list(isInput ? "standard input (\(name ?? ""))" : path), file: file)
    }
}

extension SyncSource.File {
    fileprivate init(_ bytes: [UInt8], _ name: String, newest: Int?) throws {
        if FeedFile.begins(bytes) {
            (entries, unusable, repairs) = try FeedFile.read(bytes, newest: newest)
        } else {
            var list = TitleList(name)
            try list.take(bytes)
            orders = try list.finish()
        }
        guard !entries.isEmpty || !orders.isEmpty || unusable > 0 else {
            throw UsageError("\(name) names no title, so nothing was fetched or removed; give one on each line")
        }
    }

    /// Returns the file's entries as references in a vault, and reports the unusable entries.
    func entries(in vault: any VaultClient) async throws -> (entries: [SyncEntry], unusable: Int) {
        var found = (entries: entries, unusable: unusable)
        for (index, order) in orders.enumerated() {
            do {
                let content = try order.content.get()
                let naming = TitleNaming(contentID: nil, fields: content.fields)
                found.entries.append(
                    SyncEntry(try await naming.reference(to: content.name, in: vault), name: content.title))
            } catch let error as VaultError {
                _ = await order.failed(error, number: index + 1, of: orders.count)
                found.unusable += 1
            }
        }
        return found
    }
}

/// A run of a subscription that a person or cron starts.
struct SyncRun: Sendable {
    let isDryRun: Bool
    /// Whether to show only errors.
    let isQuiet: Bool
    let isJSON: Bool

    /// The result of a run.
    struct Outcome: Sendable {
        var document: SyncDocument
        var status: ExitStatus
        let isServed: Bool
    }

    /// Runs a subscription. If there is a service, it puts new titles into its download queue. Otherwise, this process
    /// fetches them.
    func run(_ order: SyncOrder, in vault: any VaultClient) async throws -> Outcome {
        guard let local = vault as? LocalVault, !isDryRun else {
            let document = try await vault.call(Operations.Feeds.sync, order)
            return Outcome(document: document, status: Self.status(document), isServed: vault is RemoteVault)
        }
        let report = try await local.run(order)
        var outcome = Outcome(document: SyncDocument(report), status: .done, isServed: false)
        let fetch = ListFetch(
            orders: report.fetch.map { FetchOrder($0.entry) },
            naming: TitleNaming(contentID: nil, fields: HeaderFields()),
            options: report.subscription.choices.options, parallel: nil, isQuiet: isQuiet || isJSON, isRecorded: false)
        let records = fetch.orders.isEmpty ? [] : try await fetch.run(in: vault)
        for (index, record) in records.enumerated() where record.status != .done {
            outcome.document.fetched[index].problem = record.failure ?? "it could not be fetched"
        }
        outcome.status = records.first { $0.status != .done }?.status ?? Self.status(outcome.document)
        if outcome.status == .done, report.waiting > 0 {
            // The new titles are complete now, so a second run removes the old ones. If the list has changed in the
            // meantime, the old titles may stay.
            do {
                let second = SyncDocument(try await local.run(order))
                (outcome.document.removed, outcome.document.waiting) = (second.removed, second.waiting)
                (outcome.document.unusable, outcome.document.problem) = (second.unusable, second.problem)
                outcome.document.repairs = second.repairs
                outcome.status = Self.status(second)
            } catch let error as VaultError where error.code != .closed {
                try Task.checkCancellation()
                (outcome.document.problem, outcome.status) = (error.text, ExitStatus(error.code))
            }
        }
        return outcome
    }

    private static func status(_ document: SyncDocument) -> ExitStatus {
        let isWhole = document.unusable == 0 && document.problem == nil
        return document.removed.contains { $0.problem != nil } || !isWhole ? .failed : .done
    }

    /// Reports the result of a run.
    func report(_ outcome: Outcome) async throws {
        let document = outcome.document
        if isJSON { return try await StandardOutput.shared.writeJSON(document) }
        for item in document.removed + document.fetched {
            guard let problem = item.problem else { continue }
            await Terminal.shared.say("failed: \(Terminal.printable(item.name)): \(problem)")
        }
        if let problem = document.problem {
            await Terminal.shared.say(Terminal.printable("\(problem); nothing was removed"))
        }
        if document.unusable > 0 {
            let entries = Count.of(document.unusable, "entry", "entries")
            await Terminal.shared.say(
                "\(entries) of \(Terminal.printable(document.subscription.name)) cannot be used, so nothing was removed"
            )
        }
        guard !isQuiet else { return }
        try await StandardOutput.shared.write(SyncText.of(document, isDryRun: isDryRun, isServed: outcome.isServed))
    }
}
