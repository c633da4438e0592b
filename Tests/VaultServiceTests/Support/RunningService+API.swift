import MediaVault
import Testing
import VaultModel

@testable import VaultService

extension RunningService {
    /// Sends a request with a token of the scope admin over the network, on its own connection.
    func authorized(_ method: String, _ target: String, body: String = "") async throws -> (
        head: RawHead, body: [UInt8]
    ) {
        let type: KeyValuePairs = ["Authorization": "Bearer \(token)", "Content-Type": "application/json"]
        let fields: KeyValuePairs = body.isEmpty ? ["Authorization": "Bearer \(token)"] : type
        return try #require(await client().ask(method, target, host: host, fields: fields, body: body))
    }

    /// Waits until at least `bytes` bytes of a resource are durable.
    func waitUntilHeld(_ bytes: Int64, of url: MediaURL) async throws {
        let (wakes, waking) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let changes = vault.titles.changes { waking.yield() }
        defer { withExtendedLifetime(changes) {} }
        waking.yield()
        for await _ in wakes {
            if let held = try await vault.titles.summary(of: url)?.bytes, held >= bytes { return }
        }
    }
}

extension DownloadRegistry {
    /// Waits until the list of downloads meets a condition.
    func wait(_ isThere: ([DownloadDocument]) -> Bool) async {
        let (wakes, waking) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let listener = listen { waking.yield() }
        defer { stopListening(listener) }
        waking.yield()
        for await _ in wakes where isThere(all) { return }
    }
}
