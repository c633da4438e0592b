import MediaVault
import OriginTestSupport
import Testing
import VaultModel
import VaultTestSupport

/// A vault whose wall clock the test moves, and an origin that says how long its film is fresh.
struct FreshFixture: Sendable {
    let vault: VaultFixture
    let clock = TestClock()
    private let resource: ScriptedResource

    /// - Parameter cacheControl: what the origin says; nil is nothing.
    init(
        _ resource: ScriptedResource = ScriptedResource(length: 200_000), cacheControl: String? = "max-age=60"
    ) async throws {
        self.resource = resource
        vault = try await VaultFixture(resource)
        say(cacheControl)
    }

    var origin: ScriptedOrigin { vault.origin }
    var url: MediaURL { vault.url }

    /// From now on the origin has this, and says so.
    func say(_ cacheControl: String?, of other: ScriptedResource? = nil) {
        origin.answer { [resource] request in
            var answer = (other ?? resource).answer(to: request)
            answer.set("Cache-Control", cacheControl)
            return answer
        }
    }

    func open(mode: VaultMode? = nil) async throws -> Vault {
        var options = VaultOptions(mode: mode)
        options.retry.moment = .seconds(3)
        options.now = { [clock] in clock.now }
        return try await Vault.open(vault.place, unlock: vault.unlock, options: options)
    }

    /// A vault that holds the whole film.
    func filled() async throws -> Vault {
        let vault = try await open()
        #expect(try await self.vault.read(vault) == 0..<resource.media.length)
        return vault
    }

    /// What the origin was asked since so many requests: method, range, condition.
    func asked(since count: Int = 0) -> [String] {
        origin.exchanges.dropFirst(count).map { exchange in
            let request = exchange.request
            let condition = request.fields["If-None-Match"] ?? request.fields["If-Modified-Since"]
            return [request.method, request.range, condition].compactMap(\.self).joined(separator: " ")
        }
    }
}
