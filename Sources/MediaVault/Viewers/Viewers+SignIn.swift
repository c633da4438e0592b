public import VaultModel
import VaultStorage

// Signs viewers in by name and PIN.
extension Viewers {
    /// The error for a wrong PIN, for a name that no viewer has, and for a viewer who has no PIN.
    package static let wrongNameOrPIN = VaultError(
        .wrongKey, "no viewer has this name and PIN; try again, or ask the owner of the vault")

    /// Returns the viewer who has this name and PIN.
    ///
    /// After five wrong tries with a name from one address, each further try from there must wait: 30 seconds at first,
    /// then twice as long each time, up to an hour. All addresses together may make 40 wrong tries with a name, and one
    /// more every 40 minutes. A viewer's wrong tries are stored, so a restart does not clear them. A try with a name
    /// that no viewer has takes as long, and gets the same answers.
    ///
    /// - Parameters:
    ///   - name: the viewer's name, in upper or lower case.
    ///   - pin: the viewer's PIN.
    ///   - address: the bytes of the client's network address; empty for this machine. All addresses in a 64-bit IPv6
    ///     network count as one. Addresses take turns, and at most 8 callers from each can wait.
    /// - Throws: ``VaultError`` with code `wrongKey` if no viewer has this name and PIN; `busy` if the next try must
    ///   wait, with ``VaultError/retryAfter``, or if too many people are signing in; `storage` if there is not enough
    ///   memory.
    public func signIn(name: String, pin: PIN, from address: [UInt8] = []) async throws -> ViewerID {
        try await signIn(name: name, pin: pin, from: address) { _ in nil }.id
    }

    /// Signs in from a browser on which the viewer may have signed in before. If so, the browser waits only because of
    /// its own wrong tries, not because of those that others have made.
    ///
    /// - Parameter device: returns the device on which a viewer has signed in before; nil if that is not proved.
    /// - Returns: the viewer as they were when the PIN was compared. They may have been changed since.
    package func signIn(
        name: String, pin: PIN, from address: [UInt8], knownAs device: @escaping @Sendable (Viewer) -> DeviceID?
    ) async throws -> Viewer {
        // Count scalars, because a single character may consist of any number of them.
        let name = Viewer.comparable(String(name.unicodeScalars.prefix(AccessGrant.maxNameLength)))
        let address = address.count == 4 ? address : address.count < 8 ? [] : Array(address.prefix(8))
        let place: @Sendable (Viewer?) -> SignInPlace = { $0.flatMap(device).map { .device($0) } ?? .address(address) }
        let known = viewer(named: name)
        // All devices of a viewer wait in one line, because someone who has the PIN can get any number of devices.
        let line = known.flatMap { viewer in device(viewer).map { _ in SignInLine.viewer(viewer.id) } }
        return try await signIns.run(from: line ?? .address(address)) { [self] in
            try await pool.run { [self] in
                let now = store.index.now()
                heal(name, at: now)
                let viewer = viewer(named: name)
                let place = place(viewer)
                let tries = viewer?.tries ?? state.withLock { $0.unknownNames[name] }
                let wait = tries.wait(from: place, at: now)
                guard wait == 0 else { throw Self.mustWait(wait) }
                let isRight: Bool
                if let verifier = viewer?.pin {
                    isRight = try pin.matches(verifier)
                } else {
                    try pin.matchNothing()
                    isRight = false
                }
                guard isRight, let viewer else {
                    noteWrong(viewer?.id, name, from: place, address, at: store.index.now())
                    throw Self.wrongNameOrPIN
                }
                return try noteRight(viewer, from: place)
            }
        }
    }

    /// Forgets a viewer's wrong tries from all addresses and devices, so that the next try need not wait.
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

    private static func mustWait(_ seconds: Int64) -> VaultError {
        var error = VaultError(
            .busy, "there were too many wrong tries with this name; try again in \(seconds) seconds")
        error.retryAfter = Int(seconds)
        return error
    }

    /// Ends waits that began while the clock was ahead, before anyone has to wait for them.
    private func heal(_ name: String, at now: Int64) {
        changing.withLock { _ in
            guard var viewer = viewer(named: name) else {
                return state.withLock { $0.unknownNames.heal(name, at: now) }
            }
            guard viewer.tries.heal(at: now) else { return }
            let changed = viewer
            state.withLock { $0.viewers[changed.id] = changed }
            if store.isOwner { try? store.viewers.write(changed) }
        }
    }

    /// Counts a wrong try. If this process is the owner, the count is stored before the answer is sent.
    private func noteWrong(
        _ id: ViewerID?, _ name: String, from place: SignInPlace, _ address: [UInt8], at now: Int64
    ) {
        changing.withLock { _ in
            guard let id, var viewer = viewer(id) else {
                state.withLock { $0.unknownNames.noteWrong(name, from: place, at: now) }
                // This takes as long as writing a viewer's wrong try.
                if store.isOwner { try? store.index.synchronize() }
                return
            }
            viewer.tries.noteWrong(from: place, address: address, at: now)
            let changed = viewer
            // The try counts even if it cannot be written.
            state.withLock { $0.viewers[id] = changed }
            if store.isOwner { try? store.viewers.write(changed) }
        }
    }

    /// Forgets a viewer's wrong tries from the address or device that has just signed in successfully.
    ///
    /// - Throws: ``wrongNameOrPIN`` if the PIN was changed or the viewer was removed in the meantime.
    private func noteRight(_ known: Viewer, from place: SignInPlace) throws -> Viewer {
        try changing.withLock { _ in
            guard var viewer = viewer(known.id), viewer.pin == known.pin else { throw Self.wrongNameOrPIN }
            let before = viewer.tries
            viewer.tries.noteRight(from: place)
            if viewer.tries != before {
                let changed = viewer
                state.withLock { $0.viewers[changed.id] = changed }
                // If a full disk keeps wrong tries from being cleared in the index, they merely slow the viewer down.
                if store.isOwner { try? store.viewers.write(changed) }
            }
            return viewer
        }
    }
}
