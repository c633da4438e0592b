import VaultCrypto
import VaultStorage

/// How the keys of a vault stand, and how far an act on them is that was not finished.
public struct KeyReport: Hashable, Sendable {
    /// The generations in ascending order, but for those in ``folded``.
    public let generations: [GenerationReport]
    /// Generations that were retired long ago, in ascending order.
    public let folded: [ClosedRange<Int>]
    /// The most generations that are not retired which a keyring may hold.
    public static let most = KeyringDocument.mostActive
    /// The act that works on the keys now, by its command, `keys rewrap`; nil where none does, or another process's.
    public let act: String?
    /// Whether resource ids are being computed anew, and that was not finished: changing the locator again finishes it.
    public let isLocatorChanging: Bool
    /// What is left of a reseal that was not finished; nil where nothing is.
    public let reseal: ResealRest?
    /// Titles whose keys are deleted, and whose shred is not finished: what wrapped their keys may still be there.
    public let shreds: Int

    /// The generation that new resources use.
    public var current: Int { generations.last { $0.state == .current }?.number ?? 0 }

    /// Generations whose keys still open something, other than the current one.
    public var older: [GenerationReport] { generations.filter { $0.state == .active || $0.state == .retiring } }

    /// Reads it. Blocks.
    init(_ store: VaultStore, act: Receipt.Act?) throws {
        let (retiring, use) = (try store.retiringGenerations(), try store.index.generationUse())
        let (keyring, settings) = (store.keyring, try store.index.settings())
        let backlog = try store.index.resealBacklog(of: settings.resealOrder)
        generations = keyring.generationRecords.map { record in
            let state = Self.state(
                of: record, current: keyring.currentGeneration, isRetiring: retiring.contains(record.number))
            return GenerationReport(
                record, state, use[record.number] ?? GenerationUse(), leaving: backlog?.leaving[record.number] ?? 0)
        }
        folded = keyring.foldedGenerations
        self.act = act?.command
        isLocatorChanging = keyring.locators != [store.index.locator]
        reseal = backlog.map { ResealRest($0) }
        shreds = settings.pendingShreds.count
    }

    private static func state(of record: GenerationRecord, current: Int, isRetiring: Bool) -> GenerationState {
        if record.number == current { return .current }
        if record.isRetired { return .retired }
        return isRetiring ? .retiring : .active
    }
}
