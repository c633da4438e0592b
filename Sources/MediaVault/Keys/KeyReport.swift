import VaultCrypto
import VaultModel
import VaultStorage

/// The state of a vault's keys, and the progress of unfinished key operations.
public struct KeyReport: Hashable, Sendable {
    /// The generations in ascending order, except those listed in ``folded``.
    public let generations: [GenerationReport]
    /// The generations that were retired long ago, in ascending order.
    public let folded: [ClosedRange<Int>]
    /// The maximum number of generations in a keyring, not counting retired ones.
    public static let most = KeyringDocument.maxActiveGenerations
    /// The key operation that is running in this process; nil if none is running.
    public let act: Receipt.Act?
    /// Whether recomputing the resource ids was interrupted. Changing the locator again finishes the change.
    public let isLocatorChanging: Bool
    /// What is left of an unfinished reseal; nil if there is none.
    public let reseal: RemainingReseal?
    /// The number of deleted titles whose shred is unfinished. The generations that wrapped their keys may still exist.
    public let shreds: Int

    /// The generation that new resources use.
    public var current: Int { generations.last { $0.state == .current }?.number ?? 0 }

    /// The generations, other than the current one, whose keys still exist.
    public var older: [GenerationReport] { generations.filter { $0.state == .active || $0.state == .retiring } }

    /// Reads the state of a vault's keys. Blocks.
    init(_ store: VaultStore, act: Receipt.Act?) throws {
        let (retiring, use) = (
            try GenerationRows(store.index).retiring(), try GenerationRows(store.index).generationUse()
        )
        let records = try store.index.records.use()
        let (keyring, settings) = (store.keyring, try store.index.settings())
        let backlog = try ResealRows(store.index).resealBacklog(of: settings.resealOrder)
        generations = keyring.generationRecords.map { record in
            let state = Self.state(
                of: record, current: keyring.currentGeneration, isRetiring: retiring.contains(record.number))
            return GenerationReport(
                record, state, use[record.number] ?? GenerationUsage(), records: records[record.number] ?? 0,
                leaving: backlog?.leaving[record.number] ?? 0)
        }
        folded = keyring.foldedGenerations
        self.act = act
        isLocatorChanging = keyring.locators != [store.index.locator]
        reseal = backlog.map { RemainingReseal($0) }
        shreds = settings.pendingShreds.count
    }

    private static func state(of record: GenerationRecord, current: Int, isRetiring: Bool) -> GenerationState {
        if record.number == current { return .current }
        if record.isRetired { return .retired }
        return isRetiring ? .retiring : .active
    }
}

/// The state of one generation of keys.
public struct GenerationReport: Hashable, Codable, Sendable {
    /// The generation's number, counted from 1.
    public let number: Int
    /// When the generation was created, in seconds since 1970; in JSON, a time in UTC.
    @AsTimestamp public private(set) var created: Int64
    /// The stage of the generation's life.
    public let state: GenerationState
    /// The number of keyring backups that contain the generation's key.
    public let backups: Int
    /// The number of resources that need the generation because it wraps at least one of their keys.
    public let resources: Int
    /// The number of these resources that are titles rather than parts, counted as for ``VaultStatus/resources``.
    public let titles: Int
    /// The number of plaintext bytes sealed under the keys that the generation wraps.
    public let bytes: Int64
    /// The number of records that the generation seals, such as settings, viewers and shares. A retirement seals them
    /// again under another generation.
    public let records: Int
    /// The number of these resources that will no longer need the generation once the unfinished reseal is done.
    public let leaving: Int

    init(
        _ record: GenerationRecord, _ state: GenerationState, _ use: GenerationUsage, records: Int, leaving: Int
    ) {
        number = record.number
        _created = AsTimestamp(wrappedValue: record.created)
        self.state = state
        backups = record.backups
        (resources, titles) = (use.resources, use.titles)
        (bytes, self.records) = (use.bytes, records)
        self.leaving = leaving
    }
}

/// The stage of a generation's life.
public enum GenerationState: String, Codable, CaseIterable, Sendable {
    /// The generation that new resources use.
    case current
    /// A generation that opens what it wrapped, but that nothing new uses.
    case active
    /// A generation that is being destroyed. Retiring it again finishes the destruction.
    case retiring
    /// A generation whose key is destroyed.
    case retired
}

/// What is left of an unfinished reseal.
public struct RemainingReseal: Hashable, Codable, Sendable {
    /// The number of unfinished resources. Their reseal has not begun, or they still have an older key besides the
    /// current one.
    public let resources: Int
    /// The number of plaintext bytes in these resources that are still to be resealed.
    public let bytes: Int64
    /// Whether the vault will continue the reseal. If not, the reseal is over, and these resources could not be
    /// resealed completely.
    public let isDue: Bool

    init(_ backlog: ResealBacklog) {
        resources = backlog.resources
        bytes = backlog.bytes
        isDue = backlog.isDue
    }

    private enum CodingKeys: String, CodingKey {
        case resources, bytes
        case isDue = "due"
    }
}

/// Names the titles that still need a generation, each once.
enum GenerationUsers {
    /// The maximum number of titles to name.
    private static let most = 3

    /// Adds to a refusal the names of some titles that need the generation, without their queries. Returns it unchanged
    /// if no title needs the generation. Blocks.
    static func naming(_ generation: Int, in store: VaultStore, _ refusal: VaultError) -> VaultError {
        guard let ids = try? GenerationRows(store.index).titles(wrappedBy: generation, limit: most + 1),
            !ids.isEmpty, generation != store.keyring.currentGeneration
        else { return refusal }
        let names = ids.prefix(most).map { name(of: $0, in: store) } + (ids.count > most ? ["others"] : [])
        var error = refusal
        error.message += "; it is needed by \(names.joined(separator: ", "))"
        return error
    }

    private static func name(of id: ResourceID, in store: VaultStore) -> String {
        guard let resource = try? store.index.resources.find(id), let url = try? MediaURL(resource.metadata.url) else {
            return "a title that does not open and so cannot be rewrapped: remove it"
        }
        return resource.metadata.name ?? url.description
    }
}

/// The progress of rewrapping all resource keys.
public struct RewrapProgress: Hashable, Codable, Sendable {
    /// The number of keys rewrapped.
    public let keys: Int
    /// The number of keys to rewrap, as counted at the beginning.
    public let total: Int
    /// The result; nil except in the last element. Not part of the JSON.
    public internal(set) var report: RewrapReport?

    private enum CodingKeys: CodingKey { case keys, total }
}

/// The result of rewrapping all resource keys.
public struct RewrapReport: Hashable, Codable, Sendable {
    /// The generation that now wraps the keys.
    public let generation: Int
    /// The number of keys rewrapped.
    public let keys: Int
    /// The number of keys that do not open and stay unchanged. What these keys seal is damaged.
    public let unopened: Int
    /// The other generations whose keys the keyring still has.
    public let older: [Int]
}
