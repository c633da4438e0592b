import MediaVault
import OriginTestSupport
import VaultModel

/// A title whose origin pauses in the middle of the body, and a service that plays it.
final class HeldTitle: Sendable {
    private static let length: Int64 = 2_000_000
    /// The byte at which the origin pauses.
    private static let heldAt: Int64 = 500_000

    let origin: ScriptedOrigin
    let media: PseudoRandomMedia
    var url: MediaURL { origin.url() }
    private let gate = Gate()

    init() throws {
        let title = ScriptedResource(seed: 5, length: Self.length)
        media = title.media
        origin = try ScriptedOrigin(title, holdingAt: Self.heldAt, gate)
    }

    /// Runs a service over an empty vault while `body` runs, then shuts it down.
    func serve<Value: Sendable>(
        hasControl: Bool = false, shutdownLimit: Duration = .milliseconds(200),
        _ body: @escaping @Sendable (RunningService) async throws -> Value
    ) async throws -> Value {
        try await RunningService.run(
            over: try await TestVault(), hasControl: hasControl, shutdownLimit: shutdownLimit, body)
    }

    /// Waits until the origin has paused.
    func waitUntilHeld() async { await origin.wait { $0.contains { $0.phase == .held } } }

    /// Waits until the last request to the origin was abandoned.
    func waitUntilAbandoned() async { await origin.wait { $0.last?.phase == .abandoned } }

    /// Lets the origin continue.
    func goOn() { gate.open() }

    /// The number of body bytes that the origin has sent.
    var bytesSent: Int64 {
        origin.exchanges.filter { $0.request.method == "GET" }.reduce(0) { $0 + $1.bodyBytesSent }
    }
}
