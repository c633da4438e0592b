import Foundation
package import MediaVault
import VaultModel

/// A vault that this process has open. To change the vault, the process must be its owner.
package struct LocalVault: VaultClient {
    package let vault: Vault

    private static let pageSize = 128
    private static let maxPageSize = 1000

    package init(_ vault: Vault) { self.vault = vault }

    package func status() async throws -> StatusDocument { StatusDocument(try await vault.status()) }

    package func readiness(_ options: ReadinessOptions) async throws -> ReadinessReport {
        try await vault.readiness(options)
    }

    /// Returns a page of the resources that a selection admits, in the selection's order.
    func resources(after cursor: String?, limit: Int?, _ selection: ListSelection) async throws -> PageDocument {
        guard !selection.isAll else { return try await resources(after: cursor, limit: limit) }
        let (cursor, limit) = (try cursor.map { try Self.read($0, ListCursor.init) }, try Self.checked(limit))
        var all: [ListedDocument] = []
        let damaged = try await resources { all.append($0) }
        let page = try selection.page(of: all, at: Timestamp(seconds: vault.now), after: cursor, limit: limit)
        return PageDocument(resources: page.titles, damaged: cursor == nil ? damaged : 0, next: page.next?.description)
    }

    package func resources(after cursor: String?, limit: Int?) async throws -> PageDocument {
        let last = try cursor.map { try Self.read($0, ResourceID.init(hex:)) }
        let page = try await vault.page(after: last, limit: Self.checked(limit))
        return PageDocument(
            resources: page.resources.map(ListedDocument.init), damaged: page.damagedCount,
            next: page.next?.hex)
    }

    static func read<Cursor>(_ text: String, _ parse: (String) -> Cursor?) throws -> Cursor {
        guard let cursor = parse(text) else {
            throw VaultError(.invalidArgument, "after is invalid; use the value of next from the previous page")
        }
        return cursor
    }

    /// Returns the page size, which is the default if `limit` is nil.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` if `limit` is out of bounds.
    static func checked(_ limit: Int?) throws -> Int {
        let limit = limit ?? pageSize
        guard (1...maxPageSize).contains(limit) else {
            throw VaultError(.invalidArgument, "limit must be between 1 and \(maxPageSize)")
        }
        return limit
    }

    package func reference(of id: TitleID, fields: HeaderFields) async throws -> MediaReference {
        try await vault.reference(of: id, fields: fields)
    }

    package func resource(_ reference: MediaReference) async throws -> ResourceSummary? {
        try await vault.summary(of: reference)
    }

    package func read(
        _ reference: MediaReference, _ range: RequestedRange, to take: (ArraySlice<UInt8>) async throws -> Void
    ) async throws {
        try await telling(of: reference) {
            let reader = try await vault.read(reference, range: range)
            defer { reader.cancel() }
            var window = try ByteWindow(range, of: reader)
            while !window.isDone, let bytes = try await reader.next() { try await take(window.cut(bytes)) }
            // If the task is cancelled, a reader ends as if it had delivered all bytes.
            try Task.checkCancellation()
            try window.check()
            if reader.isShortened, let missing = reader.range?.upperBound {
                var error = VaultError(
                    .notHeld,
                    "\(reference.url) is held only up to byte \(missing), and the rest cannot be fetched now")
                error.firstMissing = missing
                throw error
            }
        }
    }

    package func download(
        _ reference: MediaReference, _ options: DownloadOptions, progress: (DownloadProgress) async throws -> Void
    ) async throws {
        try await telling(of: reference) {
            for try await step in vault.download(reference, options: options) {
                try await progress(step)
            }
        }
    }

    package func importFile(
        _ source: any ImportSource & Sendable, as reference: MediaReference, _ options: ImportOptions,
        progress: (ImportProgress) async -> Void
    ) async throws -> ImportReport {
        let (steps, told) = AsyncStream.makeStream(of: ImportProgress.self, bufferingPolicy: .bufferingNewest(1))
        async let report: ImportReport = {
            defer { told.finish() }
            return try await vault.importFile(source, as: reference, options: options) { told.yield($0) }
        }()
        for await step in steps { await progress(step) }
        return try await report
    }

    private func telling(of reference: MediaReference, _ act: () async throws -> Void) async throws {
        do {
            try await act()
        } catch let error as VaultError {
            throw error.told(in: await vault.modeInForce(for: reference))
        }
    }
}

// The download queue.
extension LocalVault {
    package func queue(
        _ downloads: [(reference: MediaReference, options: DownloadOptions)], first: Bool
    ) async throws -> [DownloadDocument] {
        try await vault.downloads.add(downloads, first: first).map(DownloadDocument.init)
    }

    package func downloads(after: String?, limit: Int?) async throws -> DownloadsDocument {
        let cursor = try after.map { try Self.read($0, DownloadCursor.init) }
        let queue = vault.downloads
        let page = try await queue.page(after: cursor, limit: Self.checked(limit))
        // The last page also contains the entries that have left the queue.
        let ended = page.next == nil ? queue.ended : []
        return DownloadsDocument(
            downloads: (page.downloads + ended).map(DownloadDocument.init), counts: try await queue.counts(),
            next: page.next?.description)
    }

    package func changeDownloads(
        _ act: DownloadAct, of selection: DownloadSelection
    ) async throws -> DownloadChangeDocument {
        DownloadChangeDocument(changed: try await vault.downloads.change(act, of: selection))
    }
}

// Subscriptions.
extension LocalVault {
    package func subscriptions() async throws -> SubscriptionsDocument {
        let found = try await vault.subscriptions()
        return SubscriptionsDocument(
            subscriptions: found.subscriptions.map(SubscriptionDocument.init), damaged: found.damaged)
    }

    package func subscribe(_ order: SubscriptionOrder) async throws -> SubscriptionDocument {
        SubscriptionDocument(
            try await vault.subscribe(order.source, order.choices, tries: order.untried != true))
    }

    package func unsubscribe(_ id: String, titles: Bool) async throws -> UnsubscribedDocument {
        UnsubscribedDocument(removed: try await vault.unsubscribe(id, removesTitles: titles))
    }

    package func unsubscribeAll() async throws -> UnsubscribedDocument {
        _ = try await vault.unsubscribeAll()
        return UnsubscribedDocument(removed: 0)
    }

    package func sync(_ order: SyncOrder) async throws -> SyncDocument {
        SyncDocument(try await run(order, queues: true))
    }

    /// Runs a subscription without adding its new titles to the download queue. The caller must fetch them.
    package func run(_ order: SyncOrder) async throws -> SyncReport { try await run(order, queues: false) }

    private func run(_ order: SyncOrder, queues: Bool) async throws -> SyncReport {
        var list: SyncList?
        var unusable = try order.checkedUnusable
        if let given = order.entries {
            var usable: [SyncEntry] = []
            for entry in given {
                do {
                    usable.append(
                        SyncEntry(try await entry.reference.reference(in: vault), name: entry.details.name))
                } catch let error as VaultError where [.invalidURL, .invalidArgument, .notHeld].contains(error.code) {
                    unusable += 1
                }
            }
            list = .given(usable, unusable: unusable)
        }
        let isDryRun = order.dryRun ?? false
        switch (order.id, order.source) {
        case (let id?, nil):
            return try await vault.sync(id, list, queues: queues, isDryRun: isDryRun)
        case (nil, let source?):
            return try await vault.sync(source.source, source.choices, list, queues: queues, isDryRun: isDryRun)
        default:
            throw VaultError(.invalidArgument, "the request must have either id or source; give one of them")
        }
    }
}

// Retention, verification, and settings.
extension LocalVault {
    package func remove(_ reference: MediaReference, links: Bool) async throws -> RemovalDocument {
        // The links are looked up before the removal, because the vault can look up a title's id only while it has the
        // title.
        let named = links ? try await vault.namedLinks(to: reference) : []
        let bytes = try await vault.remove(reference)
        try await revoke(named)
        return RemovalDocument(bytes: bytes, isErased: try await !vault.hasPendingErasure())
    }

    /// Revokes the named links to removed titles, so that no record names these titles.
    ///
    /// The links are revoked after the removal, because a title that could not be removed must keep its links. In the
    /// meantime, nobody can fetch the titles again through the links, because the vault prevents this for a minute
    /// after a removal.
    private func revoke(_ links: [AccessGrant]) async throws {
        var known: Set<GrantID> = []
        let each = links.filter { known.insert($0.id).inserted }
        if !each.isEmpty { try await vault.revoke(each) }
    }

    package func pin(_ reference: MediaReference) async throws { try await vault.pin(reference) }

    package func unpin(_ reference: MediaReference) async throws { try await vault.unpin(reference) }

    package func setMode(_ mode: VaultMode?, of reference: MediaReference) async throws {
        try await vault.setMode(mode, for: reference)
    }

    package func setName(_ name: String, of reference: MediaReference) async throws {
        try await vault.setName(name, of: reference)
    }

    package func setCover(_ picture: [UInt8]?, of reference: MediaReference) async throws {
        try await vault.setCover(picture, of: reference)
    }

    package func setCover(_ picture: [UInt8], ofQueued title: TitleID) async throws {
        try await vault.setCover(picture, ofQueued: title)
    }

    package func prune(_ limits: LimitsDocument) async throws -> PruneReport {
        try limits.check()
        var wanted = limits.namesAny ? limits.applied() : nil
        // In a one-time prune, limits that are not given do not apply. A given `minFree` of `default` is resolved here.
        if limits.minFree == .standard { wanted?.minFree = try await vault.standardFree() }
        return try await vault.prune(wanted, isDryRun: limits.dryRun ?? false)
    }

    package func verify(
        _ options: VerifyOptions, of references: [MediaReference], progress: (VerifyProgress) async throws -> Void
    ) async throws -> VerifyReport {
        var report: VerifyReport?
        for try await step in vault.verify(options, of: references) {
            report = step.report ?? report
            try await progress(step)
        }
        // A verification that was not cancelled ends with its report.
        guard let report else { throw CancellationError() }
        return report
    }

    package func revokeLinks() async throws { try await vault.keys.revokeLinks() }

    package func keyring() async throws -> KeyringSummary { try await vault.keys.summary() }

    package func carryOut(_ order: KeyringOrder) async throws { try await vault.keys.carryOut(order) }

    package func lock() async throws { await vault.lock() }

    package func settings() async throws -> SettingsDocument {
        SettingsDocument(
            try await vault.limits(), try await vault.keyPolicy(), try await vault.networkSettings(),
            try await vault.downloadSettings(), try await vault.programSettings(), try await vault.modeSetting())
    }

    package func change(_ change: SettingsChange) async throws -> SettingsDocument {
        try change.limits.check()
        try await change.requireTrustedPrograms()
        let mode = try change.mode.map { try NamedMode($0) }
        // All settings are changed together, so that either all changes take effect or none does.
        let limits: @Sendable (inout StorageLimits) throws -> Void = { $0 = change.limits.applied(to: $0) }
        let policy: @Sendable (() throws -> KeyPolicy) throws -> KeyPolicy = { try change.applied(to: try $0()) }
        let downloads: @Sendable (inout DownloadSettings) throws -> Void = { try change.apply(to: &$0) }
        let programs: @Sendable (inout ProgramSettings) throws -> Void = { try change.apply(to: &$0) }
        let network: @Sendable (() throws -> NetworkSettings) throws -> NetworkSettings = {
            let network: NetworkSettings
            do {
                network = try change.applied(to: try $0())
            } catch let error as VaultError where error.code == .integrity && change.proxy != nil {
                // If the settings are unreadable, a change of the proxy starts from the defaults. Otherwise, they would
                // stay unreadable forever.
                network = try change.applied(to: NetworkSettings())
            }
            if change.clientCertificate != nil { try network.clientCertificates.requireMatchingKeys() }
            return network
        }
        try await vault.changeSettings(
            limits: change.limits.namesAny ? limits : nil, policy: change.changesPolicy ? policy : nil,
            network: change.changesNetwork ? network : nil,
            downloads: change.changesDownloads ? downloads : nil,
            programs: change.changesPrograms ? programs : nil,
            mode: mode.map { .some($0.mode) } ?? .none)
        return try await settings()
    }
}

// The key lifecycle.
extension LocalVault {
    package func keys() async throws -> KeysDocument { KeysDocument(try await vault.keys.report()) }

    package func rotate() async throws -> KeysDocument { KeysDocument(try await vault.keys.rotate()) }

    package func rotateRoot(unlockedBy keys: [SlotKey], droppingOtherSlots: Bool) async throws -> KeysDocument {
        let unlocks = try keys.map { try $0.unlock }
        return KeysDocument(
            try await vault.keys.rotateRoot(unlockedBy: unlocks, droppingOtherSlots: droppingOtherSlots))
    }

    package func changeLocator() async throws -> KeysDocument { KeysDocument(try await vault.keys.changeLocator()) }

    package func rewrap(progress: (RewrapProgress) async throws -> Void) async throws -> RewrapReport {
        var report: RewrapReport?
        for try await step in vault.keys.rewrap() {
            report = step.report ?? report
            try await progress(step)
        }
        // A rewrap that was not cancelled ends with its report.
        guard let report else { throw CancellationError() }
        return report
    }

    package func retire(_ generation: Int) async throws -> KeysDocument {
        KeysDocument(try await vault.keys.retire(generation))
    }
}

// Resealing, shredding, and the audit log.
extension LocalVault {
    package func reseal(
        _ references: [MediaReference], bytesPerSecond: Int64?, progress: (ResealProgress) async throws -> Void
    ) async throws -> ResealReport {
        var report: ResealReport?
        for try await step in vault.keys.reseal(references, bytesPerSecond: bytesPerSecond) {
            report = step.report ?? report
            try await progress(step)
        }
        // A reseal that was not cancelled ends with its report.
        guard let report else { throw CancellationError() }
        return report
    }

    package func shred(
        _ references: [MediaReference], quick: Bool, links: Bool
    ) async throws -> ShredDocument {
        var named: [[AccessGrant]] = []
        for reference in links ? references : [] { named.append(try await namedLinks(toShredded: reference)) }
        let report = try await vault.keys.shred(references, quick: quick)
        // A title that could not be shredded keeps its links.
        try await revoke(zip(report.titles, named).flatMap { $0.error == nil ? $1 : [] })
        return ShredDocument(report)
    }

    /// Returns the named links to a title; none if the reference is unusable. The shred itself reports an unusable
    /// reference.
    private func namedLinks(toShredded title: MediaReference) async throws -> [AccessGrant] {
        do {
            return try await vault.namedLinks(to: title)
        } catch let error as VaultError where [.notHeld, .invalidURL, .invalidArgument].contains(error.code) {
            return []
        }
    }

    package func audit() async throws -> AuditReport { try await vault.keys.audit() }

    package func destroy(vaultID: String) async throws -> DestructionReport {
        try await vault.destroy(vaultID: vaultID)
    }
}

extension VaultError {
    /// Returns the error in the form in which it is reported to clients.
    ///
    /// If the mode allows requests to origins, a byte is missing only because its origin did not deliver it, so the
    /// code becomes `unreachable`.
    func told(in mode: VaultMode) -> VaultError {
        var error = self
        if code == .notHeld, mode.allowsRequests { error.code = .unreachable }
        return error
    }
}
