import Synchronization
import VaultCrypto
import VaultModel
import VaultStorage

/// The tokens, named links and sessions that a vault has issued, as the index has them.
///
/// A request looks only here. The owner of the vault changes the index first, durably, and then the table; another
/// process that reads the vault has what there was when it opened it.
final class GrantTable: Sendable {
    private struct State {
        var grants: [GrantID: AccessGrant] = [:]
        /// The number of rows of the index that do not open.
        var unreadable = 0
        /// The periods of use that the index does not have yet.
        var uses: [GrantID: Int64] = [:]
        var sessionEnds = SessionEnds()
    }

    private let store: VaultStore
    private let state: Locked<State>
    private let changes = Atomic<Int64>(0)
    /// Held while the index and the table change.
    private let changing = Locked(())
    private let listeners = Locked(NumberedSet<@Sendable () -> Void>())

    /// How long an expired token or link is still listed, in seconds.
    private static let expiredListing: Int64 = 30 * AccessGrant.day
    /// The most sessions of one viewer, and of the owner; of more, their own that was unused for longest ends.
    private static let (maxOfViewer, maxOfOwner) = (16, 64)

    /// Reads the grants. Blocks.
    init(_ store: VaultStore) {
        self.store = store
        state = Locked(State())
        read()
    }

    /// Reads what the index has; what this process uses is the newest of what both have.
    private func read() {
        // Without its grants a vault accepts no token: its operator can create others.
        guard let stored = try? store.grants() else { return }
        state.withLock { state in
            let mine = state.grants
            state.grants = Dictionary(stored.grants.map { ($0.id, mine[$0.id] ?? $0) }) { first, _ in first }
            state.unreadable = stored.unreadable
        }
    }

    /// Grows each time that something is revoked or issued.
    var revision: Int64 { changes.load(ordering: .acquiring) }

    /// Returns the beginning of the period in which a use is recorded once, in seconds since 1970.
    private static func period(of grant: AccessGrant, at now: Int64) -> Int64 {
        max(0, now) - max(0, now) % grant.usePeriod
    }

    /// Reads again what the index has, after records came back, so that they can be revoked. Blocks.
    func reload() {
        changing.withLock { _ in read() }
        noteChange()
    }

    // MARK: Observing

    /// Registers a closure that is called after each change.
    ///
    /// - Returns: the number for ``stopListening(_:)``.
    func listen(_ wake: @escaping @Sendable () -> Void) -> Int { listeners.withLock { $0.add(wake) } }

    func stopListening(_ listener: Int) { listeners.withLock { $0.remove(listener) } }

    private func noteChange() {
        changes.add(1, ordering: .releasing)
        for wake in listeners.withLock({ $0.all }) { wake() }
    }

    // MARK: Requests

    /// Returns a grant; nil if it was revoked, or never issued.
    func grant(_ id: GrantID) -> AccessGrant? { state.withLock { $0.grants[id] } }

    /// Returns whether a grant has not ended by now.
    func isCurrent(_ grant: AccessGrant) -> Bool { isCurrent(grant, at: store.now()) }

    /// Returns whether a grant has not ended, and neither has the token that it began with.
    func isCurrent(_ grant: AccessGrant, at now: Int64) -> Bool {
        grant.isCurrent(at: now) && grant.token.map { self.grant($0)?.isCurrent(at: now) ?? false } ?? true
    }

    /// Returns the token that a grant is, or that it ends with; nil for the session of a ticket from the control socket.
    func token(of id: GrantID) -> AccessGrant? {
        guard let grant = grant(id) else { return nil }
        return grant.kind.family == .tokens ? grant : grant.token.flatMap { self.grant($0) }
    }

    /// Returns until when the links of a grant are valid, and records that one was used: named links, or those that were
    /// created with a token or in a session; nil if they are not.
    ///
    /// They are valid again after that time, if the grant still is: the next use has to be recorded.
    func useLinks(of id: GrantID, era: [UInt8], now: Int64) -> Int64? {
        guard let grant = grant(id), grant.era == era, isCurrent(grant, at: now) else { return nil }
        noteUse(of: grant, now: now)
        return min(grant.expires ?? .max, Self.period(of: grant, at: now) + grant.usePeriod)
    }

    /// Records that something was used in this period.
    func noteUse(of grant: AccessGrant, now: Int64) {
        // No use is before the beginning, although the period may be.
        let period = max(Self.period(of: grant, at: now), grant.kind.family == .sessions ? grant.created : 0)
        guard grant.lastUsed != period else { return }
        state.withLock { state in
            guard state.grants[grant.id] != nil else { return }
            state.grants[grant.id]?.lastUsed = period
            state.uses[grant.id] = period
        }
    }

    // MARK: Listing

    /// Returns the grants of an era, the oldest first.
    func grants(of era: [UInt8]) -> [AccessGrant] {
        state.withLock { Array($0.grants.values) }.filter { $0.era == era }
            .sorted { ($0.created, $0.id.hex) < ($1.created, $1.id.hex) }
    }

    /// The number of rows that do not open.
    var unreadableCount: Int { state.withLock { $0.unreadable } }

    /// How often sessions were ended in this run other than one by one.
    var sessionEnds: SessionEnds { state.withLock { $0.sessionEnds } }

    // MARK: Changing

    /// Lets nobody in who has a ticket or has begun to sign in. It is called before the sessions are looked for that
    /// end: one that begins meanwhile is among these, or is taken back by whoever begins it.
    ///
    /// - Parameter viewer: whose sessions end; nil if all do.
    func endSignIns(of viewer: ViewerID?) {
        state.withLock { $0.sessionEnds.note(of: viewer) }
        noteChange()
    }

    /// Issues a grant: from its return on, the index has it durably. Blocks.
    ///
    /// - Parameters:
    ///   - kind: what is issued.
    ///   - name: nil for a token or session without a name.
    ///   - expires: seconds since 1970; nil for never.
    ///   - token: the token that a session ends with.
    ///   - era: that of the token key in use.
    /// - Throws: ``VaultError`` with code `inUse` if there is one of this kind with the name, or if there are too many;
    ///   `invalidArgument` if the name cannot be used; `storage`, `diskFull`.
    func issue(
        _ kind: AccessGrant.Kind, name: String?, expires: Int64?, endingWith token: GrantID? = nil, era: [UInt8]
    ) throws -> AccessGrant {
        if let name { try AccessGrant.check(name: name) }
        return try changing.withLock { _ in
            let known = state.withLock { Array($0.grants.values) }
            let now = store.now()
            var void = Set(known.filter { isVoid($0, era: era, now: now) }.map(\.id))
            if kind.family == .sessions { void.formUnion(Self.excess(of: kind, among: known, without: void)) }
            let others = known.filter { !void.contains($0.id) }
            guard others.count < StoredGrants.maxCount else {
                throw VaultError(
                    .inUse, "the vault has \(StoredGrants.maxCount) tokens and named links, the maximum; revoke some")
            }
            if let name { try Self.check(name, kind, among: others) }
            let grant = AccessGrant(
                id: try Self.freshID(among: known), kind: kind, name: name, created: now, expires: expires,
                token: token, era: era)
            try store.add(grant, removing: Array(void))
            state.withLock { state in
                for id in void { state.grants[id] = nil }
                state.grants[grant.id] = grant
            }
            noteChange()
            return grant
        }
    }

    /// Revokes grants; from its return on, nothing accepts them, not even an index that is rebuilt. Blocks.
    ///
    /// - Parameter isAll: whether to delete rows that do not open, too.
    /// - Returns: the number of those that there were.
    /// - Throws: ``VaultError`` with code `storage` or `diskFull`.
    func revoke(_ ids: [GrantID], isAll: Bool = false) throws -> Int {
        let count = try remove(ids, isAll: isAll)
        do {
            try store.backUpCatalog(forgetting: true)
        } catch let error as VaultError {
            throw VaultError(
                error.code,
                "what was revoked opens nothing any more, but catalog.backup may still have its records; a new one is "
                    + "written within a minute: \(error.message)", hint: error.hint)
        }
        return count
    }

    /// Deletes grants from the index, durably, and then from the table.
    private func remove(_ ids: [GrantID], isAll: Bool = false) throws -> Int {
        try changing.withLock { _ in
            let known = state.withLock { state in ids.filter { state.grants[$0] != nil } }
            try store.removeGrants(known, withUnreadable: isAll)
            state.withLock { state in
                for id in known {
                    state.grants[id] = nil
                    state.uses[id] = nil
                }
                if isAll { state.unreadable = 0 }
            }
            noteChange()
            return known.count
        }
    }

    /// Writes the periods of use to the index. Blocks.
    func writeUses() throws {
        try changing.withLock { _ in
            let uses = state.withLock { $0.uses }
            guard !uses.isEmpty else { return }
            try store.note(uses)
            state.withLock { state in state.uses = state.uses.filter { uses[$0.key] != $0.value } }
        }
    }

    /// Deletes grants of another era, and those that expired long ago. Blocks.
    func removeVoid(era: [UInt8]) throws {
        let now = store.now()
        let void = state.withLock { Array($0.grants.values) }.filter { isVoid($0, era: era, now: now) }
        // In an older backup they are as void.
        if !void.isEmpty { _ = try remove(void.map(\.id)) }
    }

    /// Forgets all that was issued, because the vault is closed.
    func forget() { state.withLock { ($0.grants, $0.uses) = ([:], [:]) } }

    private func isVoid(_ grant: AccessGrant, era: [UInt8], now: Int64) -> Bool {
        guard grant.era == era else { return true }
        guard grant.kind.family != .sessions else { return !isCurrent(grant, at: now) }
        return grant.expires.map { $0 <= now - Self.expiredListing } ?? false
    }

    /// Returns which sessions of a holder must end so that they can have another one; never those of others.
    private static func excess(
        of kind: AccessGrant.Kind, among known: [AccessGrant], without void: Set<GrantID>
    ) -> [GrantID] {
        known.filter { $0.kind == kind && !void.contains($0.id) }
            .sorted { max($0.created, $0.lastUsed ?? 0) > max($1.created, $1.lastUsed ?? 0) }
            .dropFirst((kind == .session(nil) ? maxOfOwner : maxOfViewer) - 1).map(\.id)
    }

    /// - Throws: ``VaultError`` with code `inUse` if another one of the kind has the name, or the name as its id.
    private static func check(_ name: String, _ kind: AccessGrant.Kind, among others: [AccessGrant]) throws {
        // The name of a session is that of a browser.
        guard kind.family != .sessions else { return }
        let same = others.filter { $0.kind.family == kind.family }
        guard !same.contains(where: { $0.name == name || $0.shortID == name }) else {
            let what = kind.family == .tokens ? "a token" : "a link"
            throw VaultError(.inUse, "there is already \(what) with this name; revoke it, or choose another name")
        }
    }

    /// Returns an id whose short form is no other's id and no name.
    private static func freshID(among others: [AccessGrant]) throws -> GrantID {
        let taken = Set(others.flatMap { [$0.shortID, $0.name ?? ""] })
        while true {
            let id: GrantID = try SecureRandom.identifier("grant id")
            if !taken.contains(String(id.hex.prefix(AccessGrant.shortIDLength))) { return id }
        }
    }
}
