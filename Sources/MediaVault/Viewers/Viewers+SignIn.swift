public import VaultModel
import VaultStorage

// Signing in by name and PIN.
extension Viewers {
    /// The answer to a wrong PIN, to a name that no viewer has, and to a viewer without a PIN.
    package static let wrongNameOrPIN = VaultError(
        .wrongKey, "no viewer has this name and PIN; try again, or ask the owner of the vault")

    /// Returns the viewer whose name and PIN these are.
    ///
    /// After five wrong tries with a name from one address, each from there must wait: 30 seconds, then twice as long
    /// each time, up to an hour. All addresses together have 40 wrong tries with a name, and another one every 40
    /// minutes. The wrong tries of a viewer are written down, so that a restart forgets none. A name that no viewer has
    /// takes as long, and has the same answers.
    ///
    /// - Parameters:
    ///   - name: the name, whatever its capitals.
    ///   - pin: the PIN.
    ///   - address: the bytes of the client's network address; empty for this machine. All of an IPv6 network of 64 bits
    ///     are one. The addresses take turns, and from each at most 8 callers wait.
    /// - Throws: ``VaultError`` with code `wrongKey` if no viewer has this name and PIN; `busy` if the next try must
    ///   wait, with ``VaultError/retryAfter``, or too many are signing in; `storage` if there is not enough memory.
    public func signIn(name: String, pin: PIN, from address: [UInt8] = []) async throws -> ViewerID {
        try await signIn(name: name, pin: pin, from: address) { _ in nil }.id
    }

    /// Does the same for a browser on which the viewer may have signed in before: then it waits for its own wrong tries
    /// alone, whatever others have tried.
    ///
    /// - Parameter device: returns the device on which a viewer has signed in before; nil if that is not proved.
    /// - Returns: the viewer as they were when the PIN was compared: it may be changed at any moment.
    package func signIn(
        name: String, pin: PIN, from address: [UInt8], knownAs device: @escaping @Sendable (Viewer) -> DeviceID?
    ) async throws -> Viewer {
        // By scalars: one character may have any number of them.
        let name = Viewer.comparable(String(name.unicodeScalars.prefix(AccessGrant.maxNameLength)))
        let address = address.count == 4 ? address : address.count < 8 ? [] : Array(address.prefix(8))
        let place: @Sendable (Viewer?) -> SignInPlace = { $0.flatMap(device).map { .device($0) } ?? .address(address) }
        let known = viewer(named: name)
        // The devices of a viewer wait together, because one who has the PIN can get any number of them.
        let line = known.flatMap { viewer in device(viewer).map { _ in SignInLine.viewer(viewer.id) } }
        return try await signIns.run(from: line ?? .address(address)) { [self] in
            try await pool.run { [self] in
                let now = store.now()
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
                    noteWrong(viewer?.id, name, from: place, address, at: store.now())
                    throw Self.wrongNameOrPIN
                }
                return try noteRight(viewer, from: place)
            }
        }
    }

    /// Forgets the wrong tries of a viewer, from wherever they came: the next one is accepted at once.
    ///
    /// - Throws: ``VaultError`` with code `notHeld` if there is no such viewer; `owned`, `storage`, `diskFull`.
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

    /// Ends the waits that a clock that was ahead has left, before anyone waits for them.
    private func heal(_ name: String, at now: Int64) {
        changing.withLock { _ in
            guard var viewer = viewer(named: name) else {
                return state.withLock { $0.unknownNames.heal(name, at: now) }
            }
            guard viewer.tries.heal(at: now) else { return }
            let changed = viewer
            state.withLock { $0.viewers[changed.id] = changed }
            if store.isOwner { try? store.write(changed) }
        }
    }

    /// Counts a wrong try, and writes it down before it is answered.
    private func noteWrong(
        _ id: ViewerID?, _ name: String, from place: SignInPlace, _ address: [UInt8], at now: Int64
    ) {
        changing.withLock { _ in
            guard let id, var viewer = viewer(id) else {
                state.withLock { $0.unknownNames.noteWrong(name, from: place, at: now) }
                // Takes as long as a write.
                if store.isOwner { try? store.index.synchronize() }
                return
            }
            viewer.tries.noteWrong(from: place, address: address, at: now)
            let changed = viewer
            // It counts also if it cannot be written.
            state.withLock { $0.viewers[id] = changed }
            if store.isOwner { try? store.write(changed) }
        }
    }

    /// Forgets the wrong tries from the place from which a viewer has signed in.
    ///
    /// - Throws: ``wrongNameOrPIN`` if the PIN was changed meanwhile, or the viewer removed.
    private func noteRight(_ known: Viewer, from place: SignInPlace) throws -> Viewer {
        try changing.withLock { _ in
            guard var viewer = viewer(known.id), viewer.pin == known.pin else { throw Self.wrongNameOrPIN }
            let before = viewer.tries
            viewer.tries.noteRight(from: place)
            if viewer.tries != before {
                let changed = viewer
                state.withLock { $0.viewers[changed.id] = changed }
                // Wrong tries that cannot be forgotten on a full disk only slow a viewer down.
                if store.isOwner { try? store.write(changed) }
            }
            return viewer
        }
    }
}
