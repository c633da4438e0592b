import VaultCrypto
import VaultModel
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
    public let reseal: RemainingReseal?
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
                record, state, use[record.number] ?? GenerationUsage(), leaving: backlog?.leaving[record.number] ?? 0)
        }
        folded = keyring.foldedGenerations
        self.act = act?.command
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

/// What there is to say of a generation of keys.
public struct GenerationReport: Hashable, Sendable {
    /// Generations are counted from 1.
    public let number: Int
    /// Seconds since 1970.
    public let created: Int64
    /// Where it stands in its life.
    public let state: GenerationState
    /// How many backup files of the keyring hold its key.
    public let backups: Int
    /// Resources that need it: it wraps a key of theirs.
    public let resources: Int
    /// Plaintext bytes that lie sealed under the keys that it wraps.
    public let bytes: Int64
    /// Resources among them that need it no more once the reseal that is not finished is done.
    public let leaving: Int

    init(_ record: GenerationRecord, _ state: GenerationState, _ use: GenerationUsage, leaving: Int) {
        number = record.number
        created = record.created
        self.state = state
        backups = record.backups
        resources = use.resources
        bytes = use.bytes
        self.leaving = leaving
    }
}

/// Where a generation of keys stands in its life.
public enum GenerationState: String, CaseIterable, Sendable {
    /// New resources use it.
    case current
    /// It opens what it wrapped, and nothing new uses it.
    case active
    /// It is being destroyed: retiring it again finishes that.
    case retiring
    /// Its key is destroyed.
    case retired
}

/// What is left of a reseal that was not finished.
public struct RemainingReseal: Hashable, Sendable {
    /// Resources that are not done: not begun, or with an older key beside the one in use.
    public let resources: Int
    /// Plaintext bytes of theirs that are still to be sealed anew.
    public let bytes: Int64
    /// Whether the vault goes on with it. Where not, it is over, and these could not be sealed anew in whole.
    public let isDue: Bool

    init(_ backlog: ResealBacklog) {
        resources = backlog.resources
        bytes = backlog.bytes
        isDue = backlog.isDue
    }
}

/// Says what needs a generation that was to go.
enum GenerationNeeds {
    /// How many titles are named.
    private static let most = 3

    /// The refusal with the names of some titles, without their queries; as it is where none needs it. Blocks.
    static func naming(_ generation: Int, in store: VaultStore, _ refusal: VaultError) -> VaultError {
        guard let ids = try? store.index.resources(wrappedBy: generation, limit: most + 1), !ids.isEmpty,
            generation != store.keyring.currentGeneration
        else { return refusal }
        let names = ids.prefix(most).map { name(of: $0, in: store) } + (ids.count > most ? ["others"] : [])
        return VaultError(refusal.code, "\(refusal.message); it is needed by \(names.joined(separator: ", "))")
    }

    private static func name(of id: ResourceID, in store: VaultStore) -> String {
        guard let resource = try? store.index.resource(id), let url = try? MediaURL(resource.metadata.url) else {
            return "a title that does not open, and so cannot be rewrapped: remove it"
        }
        return url.description
    }
}

/// How far wrapping all resource keys anew is.
public struct RewrapProgress: Hashable, Sendable {
    /// How many were wrapped anew.
    public let keys: Int
    /// How many are to be, as far as was known at the beginning.
    public let total: Int
    /// What it has come to; in the last element alone.
    public let report: RewrapReport?
}

/// What wrapping all resource keys anew has come to.
public struct RewrapReport: Hashable, Sendable {
    /// The generation that wraps them now.
    public let generation: Int
    /// How many were wrapped anew.
    public let keys: Int
    /// How many do not open, and stay as they are: what they seal is damaged.
    public let unopened: Int
    /// The other generations that the keyring still has.
    public let older: [Int]
}
