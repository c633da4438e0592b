import OriginTestSupport
import Testing
import VaultTestSupport
import VaultModel

@testable import MediaVault

/// A vault whose wall clock the test moves, and an origin that states how long its media file is fresh.
struct FreshFixture: Sendable {
    let vault: VaultFixture
    let clock = TestClock()
    private let resource: ScriptedResource

    /// - Parameter cacheControl: The `Cache-Control` field of the origin; nil for none.
    init(
        _ resource: ScriptedResource = ScriptedResource(length: 200_000), cacheControl: String? = "max-age=60",
        in place: TemporaryFolder.Place = .memory
    ) async throws {
        self.resource = resource
        vault = try await VaultFixture(resource, in: place)
        say(cacheControl)
    }

    var origin: ScriptedOrigin { vault.origin }
    var url: MediaURL { vault.url }

    /// Makes the origin serve `other`, or else its first resource, with this `Cache-Control` from now on.
    func say(_ cacheControl: String?, of other: ScriptedResource? = nil) {
        origin.answer { [resource] request in
            var answer = (other ?? resource).answer(to: request)
            answer.set("Cache-Control", cacheControl)
            return answer
        }
    }

    func open(mode: VaultMode? = nil, retry: RetryPolicy = .unhurried) async throws -> Vault {
        var options = VaultOptions(mode: mode)
        options.retry = retry
        options.now = { [clock] in clock.now }
        return try await Vault.open(vault.place, unlock: vault.unlock, options: options)
    }

    /// Opens the vault and reads the whole title into it.
    func filled(retry: RetryPolicy = .unhurried) async throws -> Vault {
        let vault = try await open(retry: retry)
        #expect(try await self.vault.read(vault) == 0..<resource.media.length)
        return vault
    }

    /// Waits until all received bytes are sealed.
    func settle(_ vault: Vault) async throws {
        let (loader, lease) = try await vault.use(MediaReference(url))
        await loader.settle()
        withExtendedLifetime(lease) {}
    }

    /// Returns the requests to the origin after the first `count`: method, range, condition.
    func asked(since count: Int = 0) -> [String] {
        origin.exchanges.dropFirst(count).map { exchange in
            let request = exchange.request
            let condition = request.fields["If-None-Match"] ?? request.fields["If-Modified-Since"]
            return [request.method, request.range, condition].compactMap(\.self).joined(separator: " ")
        }
    }
}
