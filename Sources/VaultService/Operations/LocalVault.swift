import Foundation
package import MediaVault
import VaultModel

/// A vault that this process has open. To change the vault, the process must be its owner.
package struct LocalVault: VaultClient {
    package let vault: Vault
    let kept = KeptTitles(SelectableTitle.init(_:))

    private static let pageSize = 128
    private static let maxPageSize = 1000

    package init(_ vault: Vault) { self.vault = vault }

    @discardableResult
    package func call<Input, Output>(_ operation: Operation<Input, Output>, _ input: Input) async throws -> Output {
        try await operation.run(input, vault, .local)
    }

    @discardableResult
    package func follow<Input, Progress, Output>(
        _ operation: LongOperation<Input, Progress, Output>, _ input: Input,
        _ progress: (Progress) async throws -> Void
    ) async throws -> Output {
        try await operation.begin(input, vault, .local)(progress)
    }

    /// Returns a page of the resources that a selection admits, in the selection's order.
    func resources(after cursor: String?, limit: Int?, _ selection: ListSelection) async throws -> PageDocument {
        guard !selection.isAll else { return try await resources(after: cursor, limit: limit) }
        let (cursor, limit) = (try cursor.map { try Self.read($0, ListCursor.init) }, try Self.checked(limit))
        var (titles, damaged): ([SelectableTitle], Int)
        if let ids = selection.ids {
            (titles, damaged) = (try await vault.titles.summaries(of: ids).map(SelectableTitle.init), 0)
        } else {
            let listing = try await kept.listing(of: vault, isFirst: cursor == nil)
            (titles, damaged) = (listing.titles.map(\.kept), cursor == nil ? listing.damaged : 0)
        }
        let page = try selection.page(of: titles, at: Timestamp(seconds: vault.now), after: cursor, limit: limit)
        return PageDocument(
            resources: page.titles.map(\.document), damaged: damaged, next: page.next?.description)
    }

    package func resources(after cursor: String?, limit: Int?) async throws -> PageDocument {
        let last = try cursor.map { try Self.read($0, ResourceID.init(hex:)) }
        let limit = try Self.checked(limit)
        let first = last == nil ? try await kept.listing(of: vault, isFirst: true) : nil
        if let listing = if let first { first } else { try await kept.keptListing(of: vault) } {
            let page = listing.page(after: last, limit: limit)
            return PageDocument(
                resources: page.map(\.kept.document), damaged: last == nil ? listing.damaged : 0,
                next: page.endIndex < listing.titles.endIndex ? page.last?.id.hex : nil)
        }
        let page = try await vault.titles.page(after: last, limit: limit)
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
        try await vault.titles.reference(of: id, fields: fields)
    }

    package func resource(_ reference: MediaReference) async throws -> ResourceSummary? {
        try await vault.titles.summary(of: reference)
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
            return try await vault.transfer.importFile(source, as: reference, options: options) { told.yield($0) }
        }()
        for await step in steps { await progress(step) }
        return try await report
    }

    private func telling(of reference: MediaReference, _ act: () async throws -> Void) async throws {
        do {
            try await act()
        } catch let error as VaultError {
            throw error.told(in: await vault.titles.modeInForce(for: reference))
        }
    }
}

// The download queue.
extension LocalVault {
    package func queue(
        _ downloads: [(reference: MediaReference, options: DownloadOptions)], first: Bool
    ) async throws -> [DownloadDocument] {
        try await vault.queue.add(downloads, first: first).map(DownloadDocument.init)
    }

    package func downloads(after: String?, limit: Int?) async throws -> DownloadsDocument {
        let cursor = try after.map { try Self.read($0, DownloadCursor.init) }
        let queue = vault.queue
        let page = try await queue.page(after: cursor, limit: Self.checked(limit))
        // The last page also contains the entries that have left the queue.
        let ended = page.next == nil ? queue.ended : []
        return DownloadsDocument(
            downloads: (page.downloads + ended).map(DownloadDocument.init), counts: try await queue.counts(),
            next: page.next?.description)
    }
}

// Covers, and the keys.
extension LocalVault {
    package func setCover(_ picture: [UInt8], ofQueued title: TitleID) async throws {
        try await vault.titles.setCover(picture, ofQueued: title)
    }

    package func lock() async throws {
        await vault.lock()
        kept.forget()
    }

    package func rotateRoot(unlockedBy keys: [SlotKey], droppingOtherSlots: Bool) async throws -> KeysDocument {
        try await Operations.Keys.rotateRoot(
            of: vault, unlockedBy: keys, droppingOtherSlots: droppingOtherSlots)
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
