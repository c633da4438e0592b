import MediaVault
import OriginTestSupport
import Testing

@Suite("Downloads")
struct DownloadTests {
    @Test("A download reports its progress, and ends when everything is held")
    func progress() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: 5_000_000))
        let vault = try await fixture.open()
        var last: DownloadProgress?
        for try await progress in vault.download(fixture.url) {
            #expect(progress.held >= last?.held ?? 0 && progress.total ?? 5_000_000 == 5_000_000)
            last = progress
        }
        #expect(last?.isComplete == true)
        let summary = try #require(try await vault.titles.summary(of: fixture.url))
        #expect(summary.isComplete && summary.resourceClass == "download" && summary.held == [0..<5_000_000])
        await vault.close()
    }

    @Test("A download continues where a player stopped")
    func goesOn() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: 500_000))
        let vault = try await fixture.open()
        _ = try await fixture.read(vault, .closed(first: 100_000, last: 299_999))
        for try await _ in vault.download(fixture.url) {}
        #expect(fixture.ranges == ["bytes=100000-299999", "bytes=0-99999", "bytes=300000-"])
        #expect(try await vault.status().bytesFetched == 500_000)
        await vault.close()
    }

    @Test("A player shares the transfer of a concurrent download")
    func beside() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: 4_000_000))
        let vault = try await fixture.open()
        async let downloaded: Void = { for try await _ in vault.download(fixture.url) {} }()
        #expect(try await fixture.read(vault) == 0..<4_000_000)
        try await downloaded
        #expect(try await vault.status().bytesFetched == 4_000_000)
        await vault.close()
    }

    @Test("A cancelled download keeps the received bytes")
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
        try await vault.waitUntilFetched(200_000)
        task.cancel()
        _ = await task.result
        await vault.close()
        let again = try await fixture.open(.reader)
        #expect(try await fixture.held(again) == [0..<200_000])
        await again.close()
    }

    @Test("Several connections share the gaps, and each byte is fetched once", arguments: [2, 5, 16])
    func connections(count: Int) async throws {
        let length: Int64 = 60 << 20
        let fixture = try await VaultFixture(ScriptedResource(length: length))
        let vault = try await fixture.open()
        _ = try await fixture.read(vault, .closed(first: 20_000_000, last: 20_999_999))
        for try await _ in vault.download(fixture.url, options: DownloadOptions(connections: count)) {}
        #expect(try await fixture.held(vault) == [0..<length])
        #expect(try await vault.status().bytesFetched == length)
        #expect(fixture.bytesSent == length && Set(fixture.ranges).count == fixture.ranges.count)
        #expect(Set(fixture.origin.exchanges.map(\.connection)).count > 1, "several connections were used")
        #expect(try await fixture.read(vault) == 0..<length)
        await vault.close()
    }

    @Test("What an origin refuses to further connections is fetched over the one that it accepts")
    func refusedConnections() async throws {
        let length: Int64 = 60 << 20
        let refusals = Locked(3)
        let fixture = try await VaultFixture(ScriptedResource(length: length))
        fixture.origin.answer { [resource = fixture.resource] request in
            guard request.range != nil, request.range?.hasPrefix("bytes=0-") == false else {
                return resource.answer(to: request)
            }
            let isRefused = refusals.withLock { left in
                left -= 1
                return left >= 0
            }
            return isRefused ? ScriptedAnswer(403) : resource.answer(to: request)
        }
        let vault = try await fixture.open()
        for try await _ in vault.download(fixture.url, options: DownloadOptions(connections: 4)) {}
        #expect(refusals.withLock { $0 } < 0, "premise")
        #expect(try await fixture.held(vault) == [0..<length])
        await vault.close()
    }

    @Test("An origin without range support receives one request, however many connections are allowed")
    func connectionsWithoutRanges() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: 20_000_000, supportsRanges: false))
        let vault = try await fixture.open()
        for try await _ in vault.download(fixture.url, options: DownloadOptions(connections: 8)) {}
        #expect(fixture.origin.exchanges.count == 1 && fixture.bytesSent == 20_000_000)
        #expect(try await fixture.held(vault) == [0..<20_000_000])
        await vault.close()
    }

    @Test(
        "What its server calls text is fetched if it begins like media or a manifest, and not if it does not",
        arguments: [
            ("fLaC\0\0\0\u{22}", true), ("\u{1A}text", false), ("Error: token expired", false),
            ("#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXTINF:4,\nfilm.mp4\n#EXT-X-ENDLIST\n", true),
        ])
    func carelessType(beginning: String, isMedia: Bool) async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: 300_000))
        let bytes = Array(beginning.utf8)
        fixture.origin.answer { [resource = fixture.resource] request in
            guard request.target == "/thing" else { return resource.answer(to: request) }
            return ScriptedAnswer(
                200, fields: ["Content-Type": "text/plain", "Content-Length": "\(bytes.count)"], body: [.bytes(bytes)])
        }
        let vault = try await fixture.open()
        let url = fixture.origin.url("/thing")
        var options = DownloadOptions()
        options.requiresMedia = true
        let fetch = { [options] in for try await _ in vault.download(url, options: options) {} }
        if isMedia {
            try await fetch()
            #expect(try await vault.titles.summary(of: url)?.isComplete == true)
        } else {
            let error = await #expect(throws: VaultError.self) { try await fetch() }
            #expect(error?.code == .notMedia)
            #expect(try await vault.titles.summary(of: url) == nil)
        }
        await vault.close()
    }

    @Test("A web radio is played, and no download begins that never ends")
    func radio() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: 300_000, supportsRanges: false))
        let gate = Gate()
        fixture.origin.answer { [resource = fixture.resource] request in
            var answer = resource.answer(to: request)
            answer.set("icy-name", "Radio")
            answer.sendUntilClose()
            answer.insert(.hold(gate), at: 200_000)
            return answer
        }
        let vault = try await fixture.open()
        let error = await #expect(throws: VaultError.self) { for try await _ in vault.download(fixture.url) {} }
        #expect(error?.code == .invalidArgument && error?.message.contains("never ends") == true)
        let reader = try await vault.read(fixture.url)
        #expect(try await reader.next().map { fixture.media.matches($0, at: 0) } == true)
        reader.cancel()
        await vault.close()
    }

    @Test("A rate-limited download fetches everything, and no byte twice")
    func limited() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: 400_000))
        let vault = try await fixture.open()
        let options = DownloadOptions(connections: 2, bytesPerSecond: 2_000_000)
        for try await _ in vault.download(fixture.url, options: options) {}
        #expect(try await fixture.held(vault) == [0..<400_000] && fixture.bytesSent == 400_000)
        await vault.close()
    }

    @Test("A representation that changes during a download is downloaded again, and the two are never mixed")
    func changing() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: 30 << 20))
        let newer = ScriptedResource(seed: 2, length: 25 << 20, entityTag: "\"v2\"")
        fixture.origin.answer { [resource = fixture.resource] request in
            // The old version breaks off, and the new one replaces it.
            guard request.ifRange == nil, request.range == "bytes=0-" else { return newer.answer(to: request) }
            var answer = resource.answer(to: request)
            answer.cut(at: 9_000_000, by: .close)
            return answer
        }
        let vault = try await fixture.open()
        for try await _ in vault.download(fixture.url) {}
        let summary = try #require(try await vault.titles.summary(of: fixture.url))
        #expect(summary.isComplete && summary.size == 25 << 20)
        var position: Int64 = 0
        for try await bytes in try await vault.read(fixture.url) {
            #expect(newer.media.matches(bytes, at: position))
            position += Int64(bytes.count)
        }
        #expect(position == 25 << 20)
        await vault.close()
    }

    @Test("A player gets its position at once while the title is downloaded")
    func playerFirst() async throws {
        let gate = Gate()
        let fixture = try await VaultFixture(ScriptedResource(length: 4_000_000))
        fixture.origin.answer { [resource = fixture.resource] request in
            var answer = resource.answer(to: request)
            if request.range == "bytes=0-" { answer.insert(.hold(gate), at: 200_000) }
            return answer
        }
        let vault = try await fixture.open()
        async let downloaded: Void = { for try await _ in vault.download(fixture.url) {} }()
        await fixture.origin.wait { $0.first?.phase == .held }
        #expect(try await fixture.read(vault, .closed(first: 3_000_000, last: 3_099_999)) == 3_000_000..<3_100_000)
        gate.open()
        try await downloaded
        #expect(try await fixture.held(vault) == [0..<4_000_000])
        #expect(try await vault.status().bytesFetched == 4_000_000)
        await vault.close()
    }

    @Test("A playlist is recognized as a playlist")
    func playlist() async throws {
        let fixture = try await VaultFixture(
            ScriptedResource(length: 1000, contentType: "application/vnd.apple.mpegurl"))
        let vault = try await fixture.open()
        var kind: ManifestKind?
        let options = DownloadOptions(selection: nil)
        for try await progress in vault.download(fixture.url, options: options) { kind = progress.manifest }
        #expect(kind == .hls)
        await #expect {
            for try await _ in vault.download(fixture.url) {}
        } throws: { ($0 as? VaultError)?.code == .invalidResponse }
        await vault.close()
    }
}
