import MediaVault
import VaultService

/// Connects to the service that owns the vault, for which this process needs no key, or else makes this process the
/// owner.
struct VaultConnector: Sendable {
    let client: ControlClient
    /// The opener for the vault in this process; nil if a service was found, so that no key was needed.
    let opener: VaultOpener?
    /// Creates an opener if the service that was found has since ended. The closure never prompts.
    let fallbackOpener: @Sendable () async throws -> VaultOpener
    /// The storage limits for this run; nil to use the vault's settings.
    let limits: StorageLimits?
    /// Whether to wait for as long as another command owns the vault.
    let waitsForOwner: Bool

    /// The number of attempts made even without waiting for the owner, because a service that is starting or stopping
    /// briefly owns the vault without having a socket.
    private static let minimumTries = 10
    private static let interval: Duration = .milliseconds(100)

    /// Runs `body` with the service that owns the vault, or else with the vault, after opening it as its owner.
    func act<Value>(_ body: (any VaultClient) async throws -> Value) async throws -> Value {
        if let opener { return try await own(opener, body) }
        do {
            return try await body(try service())
        } catch is ServiceGone {
            return try await own(try await fallbackOpener(), body)
        }
    }

    /// Runs `body` as ``act(_:)`` does. The first signal cancels the work.
    ///
    /// - Parameter outcome: the words with which the message describes the state of cancelled work.
    func acting<Value: Sendable>(
        ifInterrupted outcome: String = Interrupted.usualOutcome,
        _ body: @escaping @Sendable (any VaultClient) async throws -> Value
    ) async throws -> Value {
        try await Interruption.cancelling(outcome) { try await act(body) }
    }

    /// Returns the service, which uses its own limits.
    ///
    /// - Throws: ``UsageError`` if limits were given for this run.
    private func service() throws -> RemoteVault {
        guard limits == nil else {
            throw UsageError(
                "the running service has its own limits; leave out --max-size, --max-age, --min-free and "
                    + "--evict-downloads here, and change its limits with mediavault config set")
        }
        return RemoteVault(client)
    }

    /// Opens the vault for reading alongside its owner, and runs `body`.
    func reading<Value>(_ body: (Vault) async throws -> Value) async throws -> Value {
        let opener = if let opener { opener } else { try await fallbackOpener() }
        return try await opener.reading(body)
    }

    private func own<Value>(
        _ opener: VaultOpener, _ body: (any VaultClient) async throws -> Value
    ) async throws -> Value {
        do {
            return try await opener.owning(limits: limits, whenOwned: wait) { vault in
                LinkProgram().serve(vault) { sentence in Task { await Terminal.shared.say(sentence) } }
                do {
                    let value = try await body(LocalVault(vault))
                    await reportEvictions(of: vault)
                    return value
                } catch {
                    await reportEvictions(of: vault)
                    throw error
                }
            }
        } catch is ServiceFound {
            do {
                return try await body(try service())
            } catch is ServiceGone {
                throw VaultError(.closed, "the service ended before it answered; run the command again")
            }
        }
    }

    /// Reports evictions to the user. A service logs evictions, but without a service, the command has to report them.
    private func reportEvictions(of vault: Vault) async {
        guard case .evicted(let titles, let segments, let bytes)? = vault.space.takeEvictions() else { return }
        await Terminal.shared.say(
            "evicted to free space: \(ByteCount.text(bytes)) (\(Count.of(segments, "segment")), \(Count.of(titles, "title")) removed)"
        )
    }

    /// Returns whether to try again to own the vault, after a pause.
    ///
    /// - Throws: ``ServiceFound`` if a service turns out to own the vault, or ``VaultError`` with code `owned` to give
    ///   up.
    @Sendable private func wait(_ refusal: VaultError, _ tries: Int) async throws -> Bool {
        if await client.isAnswered() { throw ServiceFound() }
        guard waitsForOwner || tries < Self.minimumTries else {
            throw VaultError(.owned, "\(refusal.message) (--wait waits for it)")
        }
        if tries == Self.minimumTries { await Terminal.shared.say("waiting: \(refusal.message)") }
        try await Task.sleep(for: Self.interval)
        return true
    }
}

/// The error thrown if a service turns out to own the vault.
struct ServiceFound: Error, Hashable, Sendable {}
