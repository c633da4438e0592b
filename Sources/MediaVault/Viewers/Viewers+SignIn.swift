public import VaultModel
import VaultStorage

// Signing in by name and PIN.
extension Viewers {
    /// The answer to a wrong PIN, to a name that no viewer has, and to a viewer without a PIN.
    package static let wrongNameOrPIN = VaultError(
        .wrongKey, "no viewer has this name and PIN; try again, or ask the owner of the vault")

    /// Returns the viewer whose name and PIN these are.
    ///
    /// After five wrong tries with a name, each must wait: 30 seconds, then twice as long each time, up to 15 minutes.
    /// The wrong tries of a viewer are written down, so that a restart forgets none. A name that no viewer has takes as
    /// long, and has the same answers.
    ///
    /// - Parameters:
    ///   - name: the name, whatever its capitals.
    ///   - pin: the PIN.
    ///   - address: the bytes of the client's network address; empty for this machine. The addresses take turns, and
    ///     from each at most 8 callers wait.
    /// - Throws: ``VaultError`` with code `wrongKey` if no viewer has this name and PIN; `busy` if the next try must
    ///   wait, with ``VaultError/retryAfter``, or too many are signing in; `storage` if there is not enough memory.
    public func signIn(name: String, pin: PIN, from address: [UInt8] = []) async throws -> ViewerID {
        // By scalars: one character may have any number of them.
        let name = Viewer.comparable(String(name.unicodeScalars.prefix(AccessGrant.maxNameLength)))
        return try await signIns.run(from: address) { [self] in
            try await pool.run { [self] in
                let now = store.now()
                let viewer = viewer(named: name)
                let tries = viewer?.tries ?? state.withLock { $0.unknownNames[name] }
                let wait = tries.wait(at: now)
                guard wait == 0 else { throw Self.mustWait(wait) }
                let isRight: Bool
                if let verifier = viewer?.pin {
                    isRight = try pin.matches(verifier)
                } else {
                    try pin.matchNothing()
                    isRight = false
                }
                guard isRight, let viewer else {
                    noteWrong(viewer?.id, name, at: store.now())
                    throw Self.wrongNameOrPIN
                }
                return try noteRight(viewer)
            }
        }
    }

    private static func mustWait(_ seconds: Int64) -> VaultError {
        var error = VaultError(
            .busy, "there were too many wrong tries with this name; try again in \(seconds) seconds")
        error.retryAfter = Int(seconds)
        return error
    }

    /// Counts a wrong try, and writes it down before it is answered.
    private func noteWrong(_ id: ViewerID?, _ name: String, at now: Int64) {
        changing.withLock { _ in
            guard let id, var viewer = viewer(id) else {
                state.withLock { $0.unknownNames.noteWrong(name, at: now) }
                // Takes as long as a write.
                if store.isOwner { try? store.index.synchronize() }
                return
            }
            viewer.tries.noteWrong(at: now)
            let changed = viewer
            // It counts also if it cannot be written.
            state.withLock { $0.viewers[id] = changed }
            if store.isOwner { try? store.write(changed) }
        }
    }

    /// Forgets the wrong tries of a viewer.
    ///
    /// - Throws: ``wrongNameOrPIN`` if the PIN was changed meanwhile, or the viewer removed.
    private func noteRight(_ known: Viewer) throws -> ViewerID {
        try changing.withLock { _ in
            guard var viewer = viewer(known.id), viewer.pin == known.pin else { throw Self.wrongNameOrPIN }
            if viewer.tries != SignInTries() {
                viewer.tries = SignInTries()
                let changed = viewer
                state.withLock { $0.viewers[changed.id] = changed }
                // Wrong tries that cannot be forgotten on a full disk only slow a viewer down.
                if store.isOwner { try? store.write(changed) }
            }
            return viewer.id
        }
    }
}
