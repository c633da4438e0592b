import MediaVault
import VaultService

/// Finds who changes a vault: the service that owns it, which needs no key of ours, else this process as its owner.
struct VaultConnector: Sendable {
    let client: ControlClient
    /// What opens the vault here; nil where a service was there, and nothing had to be asked for.
    let opener: VaultOpener?
    /// Makes the opener after all, once that service has gone; it never asks.
    let laterOpener: @Sendable () async throws -> VaultOpener
    /// Limits of room for this run.
    let limits: StorageLimits?
    /// Whether to wait as long as another command owns the vault.
    let isPatient: Bool

    /// A service that begins or ends has the vault for a moment, and no socket.
    private static let leastTries = 10
    private static let interval: Duration = .milliseconds(100)

    /// Does some work through whoever may do it.
    func act<Value>(_ body: (any VaultClient) async throws -> Value) async throws -> Value {
        if let opener { return try await own(opener, body) }
        do {
            return try await body(RemoteVault(client))
        } catch is ServiceGone {
            return try await own(try await laterOpener(), body)
        }
    }

    /// Reads beside the owner.
    func reading<Value>(_ body: (Vault) async throws -> Value) async throws -> Value {
        let opener = if let opener { opener } else { try await laterOpener() }
        return try await opener.reading(body)
    }

    private func own<Value>(
        _ opener: VaultOpener, _ body: (any VaultClient) async throws -> Value
    ) async throws -> Value {
        do {
            return try await opener.owning(limits: limits, whenOwned: wait) { vault in
                do {
                    let value = try await body(LocalVault(vault))
                    await tellEvictions(of: vault)
                    return value
                } catch {
                    await tellEvictions(of: vault)
                    throw error
                }
            }
        } catch is ServiceFound {
            do {
                return try await body(RemoteVault(client))
            } catch is ServiceGone {
                throw VaultError(.closed, "the service has ended before it answered; run the command again")
            }
        }
    }

    /// A service logs what makes room; without one it is said here.
    private func tellEvictions(of vault: Vault) async {
        guard case .evicted(let titles, let segments, let bytes)? = vault.takeEvictions() else { return }
        await Terminal.shared.say(
            "evicted to make room: \(ByteCount.text(bytes)), \(segments) segments, \(titles) titles whole")
    }

    /// Whether to try again to own the vault.
    @Sendable private func wait(_ refusal: VaultError, _ tries: Int) async throws -> Bool {
        if await client.isAnswered() { throw ServiceFound() }
        guard isPatient || tries < Self.leastTries else {
            throw VaultError(.owned, "\(refusal.message) (--wait does that)")
        }
        if tries == Self.leastTries { await Terminal.shared.say("waiting: \(refusal.message)") }
        try await Task.sleep(for: Self.interval)
        return true
    }
}

/// The vault is owned by a service that can be asked.
struct ServiceFound: Error, Hashable, Sendable {}
