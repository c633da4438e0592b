import OriginTestSupport
import Testing

@testable import MediaVault
@testable import VaultCache

@Suite("Downloads with and without a concurrent player", .timeLimit(.minutes(5)))
struct DownloadAloneTests {
    @Test("A download without a player never pauses, not even for itself", arguments: [1, 4])
    func alone(connections: Int) async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: 100_000))
        let vault = try await fixture.open()
        let options = DownloadOptions(connections: connections)
        for number in 0..<5 {
            for try await _ in vault.download(fixture.origin.url("/\(number).mp4"), options: options) {}
        }
        #expect(fixture.origin.exchanges.count == 5 && vault.loaders.environment.playbackPriority.delayCount == 0)
        await vault.close()
    }

    @Test("A download pauses for a waiting player, and then continues")
    func besidePlayer() async throws {
        let gate = Gate()
        let fixture = try await VaultFixture(ScriptedResource(length: 100_000))
        fixture.origin.answer { [resource = fixture.resource] request in
            var answer = resource.answer(to: request)
            if request.target == "/played.mp4" { answer.before = [.hold(gate)] }
            return answer
        }
        let vault = try await fixture.open()
        async let played = fixture.bytes(vault, MediaReference(fixture.origin.url("/played.mp4")))
        await fixture.origin.wait { $0.first?.phase == .held }
        async let downloaded: Void = { for try await _ in vault.download(fixture.url) {} }()
        while vault.loaders.environment.playbackPriority.delayCount == 0 { try await Task.sleep(for: .milliseconds(1)) }
        gate.open()
        #expect(try await played == 100_000)
        try await downloaded
        #expect(try await fixture.held(vault) == [0..<100_000])
        await vault.close()
    }

    @Test("An empty title is downloaded over any number of connections", arguments: [1, 4])
    func empty(connections: Int) async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: 0))
        let vault = try await fixture.open()
        var last: DownloadProgress?
        for try await progress in vault.download(fixture.url, options: DownloadOptions(connections: connections)) {
            last = progress
        }
        #expect(last?.isComplete == true && last?.total == 0)
        #expect(try await vault.titles.summary(of: fixture.url)?.isComplete == true)
        await vault.close()
    }
}
