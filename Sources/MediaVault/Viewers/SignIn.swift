import VaultModel
import VaultStorage

/// One attempt to sign in by name and PIN.
struct SignIn: Sendable {
    private let viewers: Viewers
    /// The name as names are compared.
    private let name: String
    private let pin: PIN
    /// The bytes of the client's address that identify it.
    private let address: [UInt8]
    /// Returns the device on which a viewer has signed in before; nil if that is not proved.
    private let device: @Sendable (Viewer) -> DeviceID?

    init(
        viewers: Viewers, name: String, pin: PIN, address: [UInt8], device: @escaping @Sendable (Viewer) -> DeviceID?
    ) {
        (self.viewers, self.pin, self.device) = (viewers, pin, device)
        // Count scalars, because a single character may consist of any number of them.
        self.name = Viewer.comparable(String(name.unicodeScalars.prefix(AccessGrant.maxNameLength)))
        self.address = address.count == 4 ? address : address.count < 8 ? [] : Array(address.prefix(8))
    }

    /// Signs in as ``Viewers/signIn(name:pin:from:knownAs:)`` describes.
    func run() async throws -> Viewer {
        let known = viewers.viewer(named: name)
        // All devices of a viewer wait in one line, because someone who has the PIN can register any number of devices.
        let line = known.flatMap { viewer in device(viewer).map { _ in SignInLine.viewer(viewer.id) } }
        return try await viewers.signIns.run(from: line ?? .address(address)) { [self] in
            try await viewers.pool.run { [self] in
                let now = viewers.store.index.now()
                heal(at: now)
                let viewer = viewers.viewer(named: name)
                let place = viewer.flatMap(device).map { SignInPlace.device($0) } ?? .address(address)
                let tries = viewer?.tries ?? viewers.state.withLock { $0.unknownNames[name] }
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
                    noteWrong(viewer?.id, from: place, at: viewers.store.index.now())
                    throw Viewers.wrongNameOrPIN
                }
                return try noteRight(viewer, from: place)
            }
        }
    }

    private static func mustWait(_ seconds: Int64) -> VaultError {
        var error = VaultError(
            .busy, "there were too many wrong tries with this name; try again in \(seconds) seconds")
        error.retryAfter = Int(seconds)
        return error
    }

    /// Ends waits that began while the clock was ahead, before anyone has to wait for them.
    private func heal(at now: Int64) {
        viewers.changing.withLock { _ in
            guard var viewer = viewers.viewer(named: name) else {
                return viewers.state.withLock { $0.unknownNames.heal(name, at: now) }
            }
            guard viewer.tries.heal(at: now) else { return }
            let changed = viewer
            viewers.state.withLock { $0.viewers[changed.id] = changed }
            if viewers.store.isOwner { try? viewers.store.viewers.write(changed) }
        }
    }

    /// Counts a failed attempt. If this process is the owner, the count is stored before the answer is sent.
    private func noteWrong(_ id: ViewerID?, from place: SignInPlace, at now: Int64) {
        viewers.changing.withLock { _ in
            guard let id, var viewer = viewers.viewer(id) else {
                viewers.state.withLock { $0.unknownNames.noteWrong(name, from: place, at: now) }
                // This takes as long as writing a viewer's failed attempt.
                if viewers.store.isOwner { try? viewers.store.index.synchronize() }
                return
            }
            viewer.tries.noteWrong(from: place, address: address, at: now)
            let changed = viewer
            // The attempt counts even if it cannot be written.
            viewers.state.withLock { $0.viewers[id] = changed }
            if viewers.store.isOwner { try? viewers.store.viewers.write(changed) }
        }
    }

    /// Forgets a viewer's failed attempts from the address or device that has just signed in successfully.
    ///
    /// - Throws: ``Viewers/wrongNameOrPIN`` if the PIN was changed or the viewer was removed during the attempt.
    private func noteRight(_ known: Viewer, from place: SignInPlace) throws -> Viewer {
        try viewers.changing.withLock { _ in
            guard var viewer = viewers.viewer(known.id), viewer.pin == known.pin else { throw Viewers.wrongNameOrPIN }
            let before = viewer.tries
            viewer.tries.noteRight(from: place)
            if viewer.tries != before {
                let changed = viewer
                viewers.state.withLock { $0.viewers[changed.id] = changed }
                // If a full disk keeps failed attempts from being cleared in the index, they merely slow the viewer
                // down.
                if viewers.store.isOwner { try? viewers.store.viewers.write(changed) }
            }
            return viewer
        }
    }
}
