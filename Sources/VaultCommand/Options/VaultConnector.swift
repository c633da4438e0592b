import MediaVault
import VaultService

/// Connects to the service that owns the vault, which needs no key here, or makes this process the owner.
struct VaultConnector: Sendable {
    let client: ControlClient
    /// Opens the vault in this process; nil if a service was found, so that no key was needed.
    let opener: VaultOpener?
    /// Creates the opener later, if that service has ended; never prompts.
    let fallbackOpener: @Sendable () async throws -> VaultOpener
    /// Storage limits for this run.
    let limits: StorageLimits?
    /// Whether to wait as long as another command owns the vault.
    let waitsForOwner: Bool

    /// The minimum number of tries: a service that is starting or ending briefly owns the vault without a socket.
    private static let minimumTries = 10
    private static let interval: Duration = .milliseconds(100)

    /// Runs `body` on the service that owns the vault, or else on the vault as its owner.
    func act<Value>(_ body: (any VaultClient) async throws -> Value) async throws -> Value {
        if let opener { return try await own(opener, body) }
        do {
            return try await body(try service())
        } catch is ServiceGone {
            return try await own(try await fallbackOpener(), body)
        }
    }

    /// Returns the service, which keeps its own limits.
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

    /// Opens the vault for reading, alongside its owner.
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

    /// Reports evictions; a service logs them, but without one the command has to report them.
    private func reportEvictions(of vault: Vault) async {
        guard case .evicted(let titles, let segments, let bytes)? = vault.takeEvictions() else { return }
        await Terminal.shared.say(
            "evicted to free space: \(ByteCount.text(bytes)) (\(Count.of(segments, "segment")), \(Count.of(titles, "title")) removed)"
        )
    }

    /// Returns whether to try again to own the vault.
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

/// Thrown if a service turns out to own the vault.
struct ServiceFound: Error, Hashable, Sendable {}
