import Synchronization
import VaultCrypto
import VaultModel
import VaultStorage

/// The tokens, named links and sessions that a vault has issued, as recorded in the index.
///
/// Requests read only this table. The owner of the vault first changes the index, durably, and then the table. A reader
/// of the vault keeps the grants that existed when it opened the vault.
final class GrantTable: Sendable {
    private struct State {
        var grants: [GrantID: AccessGrant] = [:]
        /// The number of rows in the index that do not open.
        var unreadable = 0
        /// The periods of use that have not been written to the index yet.
        var uses: [GrantID: Int64] = [:]
        var sessionEnds = SessionEnds()
    }

    private let store: VaultStore
    private let state: Locked<State>
    private let changes = Atomic<Int64>(0)
    /// A lock held while the index and the table are changed.
    private let changing = Locked(())
    private let listeners = Locked(NumberedSet<@Sendable () -> Void>())

    /// How long a token or link stays listed after it has expired, in seconds.
    private static let expiredListing: Int64 = 30 * AccessGrant.day
    /// The maximum number of sessions for each viewer, and for the owner. One more session ends the holder's own least
    /// recently used one.
    private static let (maxOfViewer, maxOfOwner) = (16, 64)

    /// Creates the table and reads the grants from the index. Blocks.
    init(_ store: VaultStore) {
        self.store = store
        state = Locked(State())
        read()
    }

    /// Reads the grants from the index. A grant that is already in this table keeps its newer state.
    private func read() {
        // If the grants cannot be read, the vault accepts no tokens, but its operator can create new ones.
        guard let stored = try? store.grants.all() else { return }
        state.withLock { state in
            let mine = state.grants
            state.grants = Dictionary(stored.grants.map { ($0.id, mine[$0.id] ?? $0) }) { first, _ in first }
            state.unreadable = stored.unreadable
        }
    }

    /// The revision of the table, which grows each time something is issued or revoked.
    var revision: Int64 { changes.load(ordering: .acquiring) }

    /// Returns the start of the current period of use, in seconds since 1970. One use is recorded per period.
    private static func period(of grant: AccessGrant, at now: Int64) -> Int64 {
        max(0, now) - max(0, now) % grant.usePeriod
    }

    /// Reads the grants from the index again after records were restored, so that the restored grants can be revoked.
    /// Blocks.
    func reload() {
        changing.withLock { _ in read() }
        noteChange()
    }

    // MARK: Observing

    /// Registers a closure to call after each change.
    ///
    /// - Returns: the id for ``stopListening(_:)``.
    func listen(_ wake: @escaping @Sendable () -> Void) -> Int { listeners.withLock { $0.add(wake) } }

    func stopListening(_ listener: Int) { listeners.withLock { $0.remove(listener) } }

    private func noteChange() {
        changes.add(1, ordering: .releasing)
        for wake in listeners.withLock({ $0.all }) { wake() }
    }

    // MARK: Requests

    /// Returns a grant by its id; nil if it was revoked or never issued.
    func grant(_ id: GrantID) -> AccessGrant? { state.withLock { $0.grants[id] } }

    /// Returns whether neither a grant nor the token with which it was created has ended.
    func isCurrent(_ grant: AccessGrant) -> Bool { isCurrent(grant, at: store.index.now()) }

    /// Returns whether neither a grant nor the token with which it was created has ended at a given time.
    func isCurrent(_ grant: AccessGrant, at now: Int64) -> Bool {
        grant.isCurrent(at: now) && grant.token.map { self.grant($0)?.isCurrent(at: now) ?? false } ?? true
    }

    /// Returns a grant if it is a token, or the token with which the grant ends; nil if there is none, as for a session
    /// whose ticket came from the control socket.
    func token(of id: GrantID) -> AccessGrant? {
        guard let grant = grant(id) else { return nil }
        return grant.kind.family == .tokens ? grant : grant.token.flatMap { self.grant($0) }
    }

    /// Records a use of a grant's links, and returns until when they are valid; nil if they are not valid. They are
    /// named links, or were created with a token or in a session.
    ///
    /// The result is at most the end of the period of use. The links must then be checked again, so that the next use
    /// is recorded.
    func useLinks(of id: GrantID, era: [UInt8], now: Int64) -> Int64? {
        guard let grant = grant(id), grant.era == era, isCurrent(grant, at: now) else { return nil }
        noteUse(of: grant, now: now)
        return min(grant.expires ?? .max, Self.period(of: grant, at: now) + grant.usePeriod)
    }

    /// Records that a grant was used in the current period.
    func noteUse(of grant: AccessGrant, now: Int64) {
        // The period may have begun before the session, but no use can be earlier than the session.
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

    /// The counts of collective session ends in this run of the process.
    var sessionEnds: SessionEnds { state.withLock { $0.sessionEnds } }

    // MARK: Changing

    /// Invalidates tickets and sign-ins that are in progress. The caller then looks for the sessions to end. A session
    /// that begins before the caller looks is either found by the caller, or revoked by the code that begins it.
    ///
    /// - Parameter viewer: the viewer whose sessions end; nil for all sessions.
    func endSignIns(of viewer: ViewerID?) {
        state.withLock { $0.sessionEnds.note(of: viewer) }
        noteChange()
    }

    /// Issues a grant, which is durable in the index when this method returns. Blocks.
    ///
    /// - Parameters:
    ///   - kind: the kind of grant to issue.
    ///   - name: the grant's name; nil for a token or session without one.
    ///   - expires: the expiry, in seconds since 1970; nil for never.
    ///   - token: the token whose end also ends this session; nil if there is none.
    ///   - era: the era of the token key in use.
    /// - Throws: ``VaultError`` with code `inUse` if another grant of this kind has the name, or if there are too many
    ///   grants; `invalidArgument` if the name cannot be used; `storage` or `diskFull` if it cannot be written.
    func issue(
        _ kind: AccessGrant.Kind, name: String?, expires: Int64?, endingWith token: GrantID? = nil, era: [UInt8]
    ) throws -> AccessGrant {
        if let name { try AccessGrant.check(name: name) }
        return try changing.withLock { _ in
            let known = state.withLock { Array($0.grants.values) }
            let now = store.index.now()
            var void = Set(known.filter { isVoid($0, era: era, now: now) }.map(\.id))
            if kind.family == .sessions { void.formUnion(Self.excess(of: kind, among: known, without: void)) }
            let others = known.filter { !void.contains($0.id) }
            guard others.count < AccessGrant.maxCount else {
                throw VaultError(
                    .inUse, "the vault has \(AccessGrant.maxCount) tokens and named links, the maximum; revoke some")
            }
            if let name { try Self.check(name, kind, among: others) }
            let grant = AccessGrant(
                id: try Self.freshID(among: known), kind: kind, name: name, created: now, expires: expires,
                token: token, era: era)
            try store.grants.add(grant, removing: Array(void))
            state.withLock { state in
                for id in void { state.grants[id] = nil }
                state.grants[grant.id] = grant
            }
            noteChange()
            return grant
        }
    }

    /// Gives a session another name, durably. Blocks.
    ///
    /// - Throws: ``VaultError`` with code `notHeld` if the session has ended; `invalidArgument` if the name cannot be
    ///   used; `storage` or `diskFull` if it cannot be written.
    func rename(_ session: GrantID, to name: String) throws {
        try AccessGrant.check(name: name)
        try changing.withLock { _ in
            guard var grant = state.withLock({ $0.grants[session] }), grant.kind.family == .sessions else {
                throw VaultError(.notHeld, "there is no session with this id; list them")
            }
            grant.name = name
            let renamed = grant
            try store.grants.add(renamed, removing: [])
            state.withLock { $0.grants[session]?.name = name }
            noteChange()
        }
    }

    /// Revokes grants. Once this method returns, nothing accepts them, not even a rebuilt index. Blocks.
    ///
    /// - Parameter isAll: whether to delete the rows that do not open, too.
    /// - Returns: the number of grants that existed.
    /// - Throws: ``VaultError`` with code `storage` or `diskFull` if the index or its backup cannot be written.
    func revoke(_ ids: [GrantID], isAll: Bool = false) throws -> Int {
        let count = try remove(ids, isAll: isAll)
        do {
            try store.catalogBackup.write(forgetting: true)
        } catch let error as VaultError {
            throw VaultError(
                error.code,
                "what was revoked opens nothing any more, but catalog.backup may still have its records; a new one is "
                    + "written within a minute: \(error.message)", hint: error.hint)
        }
        return count
    }

    /// Deletes grants first from the index, durably, and then from the table.
    private func remove(_ ids: [GrantID], isAll: Bool = false) throws -> Int {
        try changing.withLock { _ in
            let known = state.withLock { state in ids.filter { state.grants[$0] != nil } }
            try store.grants.remove(known, withUnreadable: isAll)
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

    /// Writes the periods of use that are not yet in the index. Blocks.
    func writeUses() throws {
        try changing.withLock { _ in
            let uses = state.withLock { $0.uses }
            guard !uses.isEmpty else { return }
            try store.grants.note(uses)
            state.withLock { state in state.uses = state.uses.filter { uses[$0.key] != $0.value } }
        }
    }

    /// Deletes the grants of another era, and those that expired long ago. Blocks.
    func removeVoid(era: [UInt8]) throws {
        let now = store.index.now()
        let void = state.withLock { Array($0.grants.values) }.filter { isVoid($0, era: era, now: now) }
        // These grants are void in an older backup, too, so no new backup is needed.
        if !void.isEmpty { _ = try remove(void.map(\.id)) }
    }

    /// Discards all grants in memory, because the vault is closed.
    func forget() { state.withLock { ($0.grants, $0.uses) = ([:], [:]) } }

    private func isVoid(_ grant: AccessGrant, era: [UInt8], now: Int64) -> Bool {
        guard grant.era == era else { return true }
        guard grant.kind.family != .sessions else { return !isCurrent(grant, at: now) }
        return grant.expires.map { $0 <= now - Self.expiredListing } ?? false
    }

    /// Returns the holder's sessions that must end to make room for another one. Other holders' sessions are never
    /// ended for it.
    private static func excess(
        of kind: AccessGrant.Kind, among known: [AccessGrant], without void: Set<GrantID>
    ) -> [GrantID] {
        known.filter { $0.kind == kind && !void.contains($0.id) }
            .sorted { max($0.created, $0.lastUsed ?? 0) > max($1.created, $1.lastUsed ?? 0) }
            .dropFirst((kind == .session(nil) ? maxOfOwner : maxOfViewer) - 1).map(\.id)
    }

    /// Checks that a name is free.
    ///
    /// - Throws: ``VaultError`` with code `inUse` if the name is that of another grant of the same kind, or its short
    ///   id.
    private static func check(_ name: String, _ kind: AccessGrant.Kind, among others: [AccessGrant]) throws {
        // A session's name is that of a browser, and need not be unique.
        guard kind.family != .sessions else { return }
        let same = others.filter { $0.kind.family == kind.family }
        guard !same.contains(where: { $0.name == name || $0.shortID == name }) else {
            let what = kind.family == .tokens ? "a token" : "a link"
            throw VaultError(.inUse, "there is already \(what) with this name; revoke it, or choose another name")
        }
    }

    /// Returns an id whose short form is neither the short id nor the name of another grant.
    private static func freshID(among others: [AccessGrant]) throws -> GrantID {
        let taken = Set(others.flatMap { [$0.shortID, $0.name ?? ""] })
        while true {
            let id: GrantID = try SecureRandom.identifier("grant id")
            if !taken.contains(String(id.hex.prefix(AccessGrant.shortIDLength))) { return id }
        }
    }
}
