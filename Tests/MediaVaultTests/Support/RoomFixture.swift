@testable import MediaVault
import OriginTestSupport
import Testing
import VaultStorage
import VaultTestSupport

/// A vault with limits, and an origin that has a media file of any length at `/<seed>-<length>.mp4`.
///
/// The vault does its periodic work only when the test requests it, so that its reports do not depend on the speed of
/// the machine.
final class RoomFixture: Sendable {
    let place: VaultPlace
    let unlock: Unlock
    let origin: ScriptedOrigin
    /// The simulated file system below all files of the vault.
    let disk: SimulatedFileSystem
    let meter: MeteredFileSystem
    let clock = TestClock()
    private let folder: TemporaryFolder

    init() async throws {
        folder = try TemporaryFolder()
        place = VaultPlace(folder: folder.path + "/vault", keyring: folder.path + "/keys/keyring.json")
        unlock = .keyFile(path: folder.path + "/keys/key")
        _ = try await Vault.initialize(place, unlock: unlock)
        origin = try ScriptedOrigin { Self.title(ofTarget: $0.target).answer(to: $0) }
        disk = SimulatedFileSystem(root: folder.path)
        meter = MeteredFileSystem(over: disk)
    }

    func open(_ limits: StorageLimits? = nil, access: VaultOptions.Access = .owner) async throws -> Vault {
        var options = VaultOptions(access: access, limits: limits)
        options.retry = .unhurried
        options.fileSystem = meter
        options.isSelfMaintaining = false
        let clock = clock
        options.now = { clock.now }
        return try await Vault.open(place, unlock: unlock, options: options)
    }

    static func title(ofTarget target: String) -> ScriptedResource {
        let numbers = target.dropFirst().prefix { $0 != "." }.split(separator: "-").compactMap { Int64($0) }
        return title(UInt64(numbers.first ?? 0), numbers.last ?? 0)
    }

    static func title(_ seed: UInt64, _ length: Int64) -> ScriptedResource {
        ScriptedResource(seed: seed, length: length, entityTag: "\"\(seed)\"")
    }

    func url(_ seed: UInt64, _ length: Int64) -> MediaURL { origin.url("/\(seed)-\(length).mp4") }

    /// Reads a title or a range of it, checks every byte, and returns when the received bytes are durable.
    func play(
        _ vault: Vault, _ seed: UInt64, _ length: Int64, _ range: RequestedRange = .whole,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let reader = try await vault.read(url(seed, length), range: range)
        var position = reader.range?.lowerBound ?? 0
        let media = Self.title(seed, length).media
        while let bytes = try await reader.next() {
            guard media.matches(bytes, at: position) else {
                Issue.record("wrong bytes at \(position) of film \(seed)", sourceLocation: sourceLocation)
                return
            }
            position += Int64(bytes.count)
        }
        #expect(position == reader.range?.upperBound ?? length, sourceLocation: sourceLocation)
        // The last bytes are sealed a moment later.
        reader.cancel()
        let (loader, lease) = try await vault.use(MediaReference(url(seed, length)))
        await loader.settle()
        withExtendedLifetime(lease) {}
    }

    /// Returns the number of held bytes of a title; nil if the title is unknown.
    func held(_ vault: Vault, _ seed: UInt64, _ length: Int64) async throws -> Int64? {
        try await vault.titles.summary(of: url(seed, length))?.bytes
    }

    func download(_ vault: Vault, _ seed: UInt64, _ length: Int64) async throws {
        for try await _ in vault.download(url(seed, length)) {}
    }

    /// Does the vault's periodic work as of `duration` from now.
    func later(_ vault: Vault, _ duration: Duration) async { await vault.runPeriodicWork(now: .now + duration) }
}
