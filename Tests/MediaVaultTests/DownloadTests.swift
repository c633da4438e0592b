import MediaVault
import OriginTestSupport
import Testing

@Suite("Downloads")
struct DownloadTests {
    @Test("A download tells how far it is, and ends when everything is held (L21, C9)")
    func progress() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: 5_000_000))
        let vault = try await fixture.open()
        var last: DownloadProgress?
        for try await progress in vault.download(fixture.url) {
            #expect(progress.held >= last?.held ?? 0 && progress.total ?? 5_000_000 == 5_000_000)
            last = progress
        }
        #expect(last?.isComplete == true)
        let summary = try #require(try await vault.summary(of: fixture.url))
        #expect(summary.isComplete && summary.resourceClass == "download" && summary.held == [0..<5_000_000])
        await vault.close()
    }

    @Test("A download goes on where a player left off (C7)")
    func goesOn() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: 500_000))
        let vault = try await fixture.open()
        _ = try await fixture.read(vault, .closed(first: 100_000, last: 299_999))
        for try await _ in vault.download(fixture.url) {}
        #expect(fixture.ranges == ["bytes=100000-299999", "bytes=0-99999", "bytes=300000-"])
        #expect(try await vault.status().bytesFetched == 500_000)
        await vault.close()
    }

    @Test("A player beside a download shares its transfer (C7)")
    func beside() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: 4_000_000))
        let vault = try await fixture.open()
        async let downloaded: Void = { for try await _ in vault.download(fixture.url) {} }()
        #expect(try await fixture.read(vault) == 0..<4_000_000)
        try await downloaded
        #expect(try await vault.status().bytesFetched == 4_000_000)
        await vault.close()
    }

    @Test("A download that is cancelled keeps what came (C11)")
    func cancelled() async throws {
        let gate = Gate()
        let fixture = try await VaultFixture(ScriptedResource(length: 500_000))
        fixture.origin.answer { [resource = fixture.resource] request in
            var answer = resource.answer(to: request)
            answer.insert(.hold(gate), at: 200_000)
            return answer
        }
        let vault = try await fixture.open()
        let task = Task { for try await _ in vault.download(fixture.url) {} }
        await fixture.origin.wait { $0.first?.phase == .held }
        while try await vault.status().bytesFetched < 200_000 { try await Task.sleep(for: .milliseconds(5)) }
        task.cancel()
        _ = await task.result
        await vault.close()
        let again = try await fixture.open(.reader)
        #expect(try await fixture.held(again) == [0..<200_000])
        await again.close()
    }

    @Test("A playlist is known for what it is")
    func playlist() async throws {
        let fixture = try await VaultFixture(
            ScriptedResource(length: 1000, contentType: "application/vnd.apple.mpegurl"))
        let vault = try await fixture.open()
        var kind: ManifestKind?
        for try await progress in vault.download(fixture.url) { kind = progress.manifest }
        #expect(kind == .hls)
        await vault.close()
    }
}
