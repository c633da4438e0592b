import MediaVault
import OriginTestSupport
import Testing

@Suite("Readers of one resource")
struct SharingTests {
    @Test("A reader gets available bytes at once, and ends only when its whole range was served")
    func progressive() async throws {
        let gate = Gate()
        let fixture = try await VaultFixture(ScriptedResource(length: 300_000))
        fixture.origin.answer { [resource = fixture.resource] request in
            var answer = resource.answer(to: request)
            answer.insert(.hold(gate), at: 90_000)
            return answer
        }
        let vault = try await fixture.open()
        let reader = try await vault.read(fixture.url, range: .closed(first: 10_000, last: 209_999))
        var position: Int64 = 10_000
        while position < 100_000, let bytes = try await reader.next() { position += Int64(bytes.count) }
        #expect(position == 100_000 && reader.isWaitingForOrigin, "all received bytes were handed on")
        gate.open()
        while let bytes = try await reader.next() {
            #expect(fixture.media.matches(bytes, at: position))
            position += Int64(bytes.count)
        }
        #expect(position == 210_000)
        await vault.close()
    }

    @Test("All readers that wait for the first answer learn from it, and only one request is sent")
    func oneQuestion() async throws {
        let gate = Gate()
        let fixture = try await VaultFixture(ScriptedResource(length: 100_000, contentType: "audio/flac"))
        fixture.origin.answer { [resource = fixture.resource] request in
            var answer = resource.answer(to: request)
            answer.before = [.hold(gate)]
            return answer
        }
        let vault = try await fixture.open()
        try await withThrowingTaskGroup(of: ContentInformation.self) { group in
            for _ in 0..<6 { group.addTask { try await vault.read(fixture.url).information } }
            await fixture.origin.wait { $0.first?.phase == .held }
            gate.open()
            for try await information in group {
                #expect(information.length == 100_000 && information.type == "audio/flac")
            }
        }
        #expect(fixture.origin.exchanges.count == 1)
        await vault.close()
    }

    @Test("Reading ahead goes through the same store")
    func ahead() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: 200_000))
        let vault = try await fixture.open()
        #expect(try await fixture.read(vault, .closed(first: 0, last: 9_999)) == 0..<10_000)
        #expect(try await fixture.read(vault) == 0..<200_000)
        #expect(fixture.ranges == ["bytes=0-9999", "bytes=10000-"])
        await vault.close()
    }

    @Test("Held bytes are served in small pieces, never as one")
    func pieces() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: 1_000_000))
        let vault = try await fixture.open()
        _ = try await fixture.read(vault)
        var sizes: [Int] = []
        for try await bytes in try await vault.read(fixture.url) { sizes.append(bytes.count) }
        #expect(sizes.reduce(0, +) == 1_000_000)
        #expect(sizes.count >= 15 && sizes.allSatisfy { $0 <= MediaReader.chunkBytes })
        await vault.close()
    }

    @Test("A reader whose bytes are not consumed slows the origin down")
    func backPressure() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: 64 << 20))
        let vault = try await fixture.open()
        let reader = try await vault.read(fixture.url)
        await fixture.origin.wait { $0.first?.phase == .blocked }
        #expect(
            try await vault.status().bytesFetched < 1 << 20, "the process received little more than the window")
        #expect(fixture.bytesSent < 16 << 20, "the rest is in the sockets' buffers")
        reader.cancel()
        await vault.close()
    }

    @Test("Closing a vault ends its readers, and a closed vault accepts no more")
    func closing() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: 8 << 20))
        let vault = try await fixture.open()
        let reader = try await vault.read(fixture.url)
        _ = try await reader.next()
        await vault.close()
        let ended = await #expect(throws: VaultError.self) { while try await reader.next() != nil {} }
        #expect(ended?.code == .closed)
        let refused = await #expect(throws: VaultError.self) { try await vault.read(fixture.url) }
        #expect(refused?.code == .closed)
    }
}
