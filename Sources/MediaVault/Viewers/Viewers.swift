import Synchronization
import VaultCache
import VaultCrypto
public import VaultModel
import VaultStorage

/// The viewers of a vault, the titles that are shared with them, and the playback positions of the viewers and the
/// owner.
///
/// Requests read only this object. The owner of the vault first changes the index, durably, and then this object; only
/// positions are written later. A reader of the vault keeps the state that existed when it opened the vault.
public final class Viewers: Sendable {
    struct State {
        var viewers: [ViewerID: Viewer] = [:]
        /// The resource of each title that is shared individually, and the viewers with whom it is shared.
        var shares: [TitleID: (resource: ResourceID, viewers: Set<ViewerID>)] = [:]
        /// The positions of each viewer; nil stands for the owner.
        var positions: [ViewerID?: PlaybackPositions] = [:]
        /// The viewers whose latest positions have not been written to the index yet; nil stands for the owner.
        var unwritten: Set<ViewerID?> = []
        var unreadable = 0
        var unknownNames = UnknownNames()
        /// The number of the locator from which the resource ids were derived.
        var locator: Int

        init(locator: Int) { self.locator = locator }
    }

    let store: VaultStore
    let pool: BlockingPool
    let state: Locked<State>
    let signIns = SignInQueue()
    /// A lock held while the index and the state are changed.
    let changing = Locked(())
    /// A lock held while removed titles are forgotten, so that a second caller returns only when that has been done.
    let following = Locked(())
    /// When positions were last written to the index.
    let written = Locked(ContinuousClock.now)
    let removals: ResourceChanges
    /// The collections of the titles, while collections are shared or have rules.
    let marks: TitleMarks
    let wakeUp: WakeUp
    private let listeners = Locked(NumberedSet<@Sendable () -> Void>())
    private let changes = Atomic<Int64>(0)

    /// Creates the object and reads its state from the index. Blocks.
    init(_ store: VaultStore, pool: BlockingPool) {
        (self.store, self.pool) = (store, pool)
        marks = TitleMarks(store)
        let wakeUp = WakeUp()
        self.wakeUp = wakeUp
        removals = ResourceChanges(store.changes, wake: { wakeUp.call() })
        state = Locked(State(locator: store.index.locator))
        load()
        wakeUp.set { [weak self] in self?.followSoon() }
    }

    /// Follows changed resources in the background, while their collections matter, because a new title may belong to
    /// one. Several changes are followed together.
    private func followSoon() {
        guard needsCollections, wakeUp.begin() else { return }
        Task { [weak self, pool] in try? await pool.run { [weak self] in try self?.followResources() } }
    }

    /// Whether any collection is shared with a viewer or has a rule.
    var needsCollections: Bool {
        state.withLock { $0.viewers.values.contains { !$0.collections.isEmpty } } || !marks.rules.isEmpty
    }

    /// Reads the state from the index.
    func load() {
        // If the rows cannot be read, the vault admits no viewers, but its owner can add them again.
        let stored = (try? store.viewers.all()) ?? StoredViewers()
        let locator = store.index.locator
        // This makes the index cache the title ids that renamed resources keep in their rows, because a removal deletes
        // the rows.
        if let any = stored.shares.keys.first { _ = try? store.index.titleIDs.id(of: any) }
        state.withLock { state in
            state.viewers = Dictionary(stored.viewers.map { ($0.id, $0) }) { first, _ in first }
            state.shares = [:]
            for (resource, share) in stored.shares { state.shares[share.title] = (resource, share.viewers) }
            let unwritten = state.positions.filter { state.unwritten.contains($0.key) }
            state.positions = stored.positions.merging(unwritten) { _, mine in mine }
            (state.unreadable, state.locator) = (stored.unreadable, locator)
        }
        marks.rules.load(from: store)
        guard needsCollections else { return marks.forget() }
        // If the titles cannot be read, no collection is shared, until the next change is followed.
        do { try marks.load() } catch { marks.forget() }
    }

    /// Reads the state from the index again after records were restored. Blocks.
    func reload() {
        following.withLock { _ in changing.withLock { _ in load() } }
        noteChange()
    }

    /// Discards the viewers and everything that belongs to them, because the vault is closed.
    func forget() {
        state.withLock { $0 = State(locator: $0.locator) }
        marks.rules.forget()
        marks.forget()
    }

    // MARK: Observing

    /// The revision, incremented each time viewers or their shares change.
    var revision: Int64 { changes.load(ordering: .acquiring) }

    /// Registers a closure to call after each change of viewers or their shares.
    ///
    /// - Returns: the id for ``stopListening(_:)``.
    package func listen(_ wake: @escaping @Sendable () -> Void) -> Int { listeners.withLock { $0.add(wake) } }

    package func stopListening(_ listener: Int) { listeners.withLock { $0.remove(listener) } }

    func noteChange() {
        changes.add(1, ordering: .releasing)
        for wake in listeners.withLock({ $0.all }) { wake() }
    }

    // MARK: Viewers

    /// The viewers, in the order in which they were added.
    public var all: [Viewer] {
        state.withLock { Array($0.viewers.values) }.sorted { ($0.created, $0.id.hex) < ($1.created, $1.id.hex) }
    }

    /// The number of records of viewers, shares and positions that cannot be read. Such records admit and share
    /// nothing.
    public var unreadableCount: Int { state.withLock { $0.unreadable } }

    /// Returns a viewer; nil if none has this id.
    public func viewer(_ id: ViewerID) -> Viewer? { state.withLock { $0.viewers[id] } }

    /// Returns the viewer with a name, ignoring case; nil if no viewer has it.
    public func viewer(named name: String) -> Viewer? {
        let name = Viewer.comparable(name)
        return state.withLock { $0.viewers.values.first { Viewer.comparable($0.name) == name } }
    }

    /// Adds a viewer. No title is shared with them individually yet.
    ///
    /// - Parameters:
    ///   - name: the viewer's name: 1 to 100 visible characters. No other viewer may have it.
    ///   - pin: the PIN with which the viewer signs in; nil if only a ticket from the owner lets them in.
    ///   - sharesAll: whether to share every title with the viewer.
    /// - Throws: ``VaultError`` with code `inUse` if another viewer has the name, or if there are already 256 viewers;
    ///   `invalidArgument` if the name cannot be used; `owned` if this process is not the owner; `busy` if too many
    ///   PINs are waiting to be set; `storage` or `diskFull` if the viewer cannot be written.
    @discardableResult
    public func add(_ name: String, pin: PIN? = nil, sharesAll: Bool = false) async throws -> Viewer {
        try store.requireOwner(to: "adds viewers")
        try Viewer.check(name: name)
        let verifier = try await verifier(of: pin)
        return try await change { viewers, now in
            guard viewers.count < Viewer.maxCount else {
                throw VaultError(.inUse, "the vault has \(Viewer.maxCount) viewers, the maximum; remove some")
            }
            try Self.requireFree(name, except: nil, in: viewers)
            return Viewer(
                id: try SecureRandom.identifier("viewer id"), name: name, created: now, sharesAll: sharesAll,
                pin: verifier)
        }
    }

    /// Changes the given properties of a viewer. Changing the PIN also forgets the viewer's failed attempts.
    ///
    /// - Parameters:
    ///   - id: the viewer's id.
    ///   - name: the new name; nil to keep the name.
    ///   - pin: how to change the PIN.
    ///   - sharesAll: whether to share every title with the viewer; nil to leave this unchanged.
    ///   - languages: the languages in which the viewer wants to hear and read titles, the favourite first; empty for
    ///     those of the vault, and nil to leave them unchanged.
    /// - Throws: the errors of ``add(_:pin:sharesAll:)``; also ``VaultError`` with code `invalidArgument` if a language is
    ///   no RFC 5646 tag, and `notHeld` if there is no such viewer.
    @discardableResult
    public func change(
        _ id: ViewerID, name: String? = nil, pin: PINChange = .keep, sharesAll: Bool? = nil,
        languages: [String]? = nil
    ) async throws -> Viewer {
        try store.requireOwner(to: "changes viewers")
        if let name { try Viewer.check(name: name) }
        if let languages { try LanguageList.check(languages) }
        let verifier: PINVerifier? = if case .set(let pin) = pin { try await verifier(of: pin) } else { nil }
        return try await change { viewers, _ in
            guard var viewer = viewers[id] else { throw Self.unknown }
            if let name {
                try Self.requireFree(name, except: id, in: viewers)
                viewer.name = name
            }
            if let sharesAll { viewer.sharesAll = sharesAll }
            if let languages { viewer.languages = languages }
            if case .keep = pin { return viewer }
            (viewer.pin, viewer.tries) = (verifier, SignInTries())
            return viewer
        }
    }

    /// Changes a viewer's name.
    ///
    /// - Throws: the errors of ``change(_:name:pin:sharesAll:languages:)``.
    @discardableResult
    public func rename(_ id: ViewerID, to name: String) async throws -> Viewer { try await change(id, name: name) }

    /// Changes a viewer's PIN; nil removes it.
    ///
    /// - Throws: the errors of ``change(_:name:pin:sharesAll:languages:)``.
    @discardableResult
    public func setPIN(_ pin: PIN?, of id: ViewerID) async throws -> Viewer {
        try await change(id, pin: pin.map { .set($0) } ?? .remove)
    }

    /// Removes a viewer together with their positions and shares.
    ///
    /// - Throws: ``VaultError`` with code `notHeld` if there is no such viewer; `owned` if this process is not the
    ///   owner; `storage` or `diskFull` if the change cannot be written.
    public func remove(_ id: ViewerID) async throws {
        try store.requireOwner(to: "removes viewers")
        try await pool.run { [self] in
            try changing.withLock { _ in
                guard viewer(id) != nil else { throw Self.unknown }
                let shared = state.withLock { $0.shares.filter { $0.value.viewers.contains(id) } }
                var shares: [ResourceID: TitleShare] = [:]
                for (title, share) in shared {
                    shares[share.resource] = TitleShare(title: title, viewers: share.viewers.subtracting([id]))
                }
                try store.viewers.remove(id, changing: shares)
                state.withLock { state in
                    state.viewers[id] = nil
                    (state.positions[id], _) = (nil, state.unwritten.remove(id))
                    for title in shared.keys { state.drop(id, from: title) }
                }
            }
            noteChange()
        }
    }

    // MARK: Signing in

    /// The error for a wrong PIN, for a name that no viewer has, and for a viewer who has no PIN.
    package static let wrongNameOrPIN = VaultError(
        .wrongKey, "no viewer has this name and PIN; try again, or ask the owner of the vault")

    /// Returns the viewer who has this name and PIN.
    ///
    /// After five failed attempts with a name from one address, each further attempt from there must wait: 30 seconds
    /// at first, then twice as long each time, up to an hour. All addresses together may make 40 failed attempts with a
    /// name, and one more every 40 minutes. A viewer's failed attempts are stored, so a restart does not clear them. An
    /// attempt with a name that no viewer has takes as long, and gets the same answers.
    ///
    /// - Parameters:
    ///   - name: the viewer's name, in upper or lower case.
    ///   - pin: the viewer's PIN.
    ///   - address: the bytes of the client's network address; empty for this machine. All addresses in a 64-bit IPv6
    ///     network count as one. Addresses take turns, and at most 8 callers from each can wait.
    /// - Throws: ``VaultError`` with code `wrongKey` if no viewer has this name and PIN; `busy` if the next attempt
    ///   must wait, with ``VaultError/retryAfter``, or if too many people are signing in; `storage` if there is not
    ///   enough memory.
    public func signIn(name: String, pin: PIN, from address: [UInt8] = []) async throws -> ViewerID {
        try await signIn(name: name, pin: pin, from: address) { _ in nil }.id
    }

    /// Signs in from a browser on which the viewer may have signed in before. If so, the browser waits only because of
    /// its own failed attempts, not because of those that others have made.
    ///
    /// - Parameter device: returns the device on which a viewer has signed in before; nil if that is not proved.
    /// - Returns: the viewer as they were when the PIN was compared. They may have been changed since.
    package func signIn(
        name: String, pin: PIN, from address: [UInt8], knownAs device: @escaping @Sendable (Viewer) -> DeviceID?
    ) async throws -> Viewer {
        try await SignIn(viewers: self, name: name, pin: pin, address: address, device: device).run()
    }

    /// Forgets a viewer's failed attempts from all addresses and devices, so that the next attempt need not wait.
    ///
    /// - Throws: ``VaultError`` with code `notHeld` if there is no such viewer; `owned` if this process is not the
    ///   owner; `storage` or `diskFull` if the change cannot be written.
    @discardableResult
    public func unlock(_ id: ViewerID) async throws -> Viewer {
        try store.requireOwner(to: "unlocks viewers")
        return try await change { viewers, _ in
            guard var viewer = viewers[id] else { throw Self.unknown }
            viewer.tries = SignInTries()
            return viewer
        }
    }

    // MARK: Changing

    /// The error for an id that no viewer has.
    static let unknown = VaultError(.notHeld, "the vault has no such viewer; list the viewers")

    private static func requireFree(_ name: String, except id: ViewerID?, in viewers: [ViewerID: Viewer]) throws {
        let comparable = Viewer.comparable(name)
        guard !viewers.values.contains(where: { $0.id != id && Viewer.comparable($0.name) == comparable }) else {
            throw VaultError(.inUse, "there is already a viewer with this name; choose another name")
        }
    }

    private func verifier(of pin: PIN?) async throws -> PINVerifier? {
        guard let pin else { return nil }
        return try await signIns.run(from: nil) { [pool] in try await pool.run { try pin.verifier() } }
    }

    func change(
        _ body: @escaping @Sendable ([ViewerID: Viewer], _ now: Int64) throws -> Viewer
    ) async throws -> Viewer {
        try await pool.run { [self] in
            let viewer = try changing.withLock { _ in
                let viewer = try body(state.withLock { $0.viewers }, store.index.now())
                try write(viewer)
                return viewer
            }
            noteChange()
            return viewer
        }
    }

    /// Writes a viewer first to the index, and then to the state. Blocks; the caller holds ``changing``.
    func write(_ viewer: Viewer) throws {
        try store.viewers.write(viewer)
        state.withLock { $0.viewers[viewer.id] = viewer }
    }
}

extension Viewers.State {
    /// Removes a viewer from those with whom a title is shared individually.
    mutating func drop(_ viewer: ViewerID, from title: TitleID) {
        shares[title]?.viewers.remove(viewer)
        if shares[title]?.viewers.isEmpty == true { shares[title] = nil }
    }
}
