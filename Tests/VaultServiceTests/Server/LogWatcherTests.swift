import Foundation
import Hummingbird
import Logging
import MediaVault
import NIOEmbedded
import OriginTestSupport
import Testing
import VaultModel

@testable import VaultService

@Suite("What happens to a vault, in the log of its service", .timeLimit(.minutes(5)))
struct LogWatcherTests {
    private func lines(_ recorder: LogRecorder) -> [LogRecorder.Line] { recorder.lines.filter { $0.level >= .notice } }

    @Test("Unlock, key operations, slots, failed unlocks, revoked links and the lock are notices, in their order")
    func keys() async throws {
        let recorder = LogRecorder()
        let (test, stranger) = (try await TestVault(), try await TestVault())
        let slot = NewSlot(.keyFile(path: test.place.keyring + ".second"))
        let (order, forged) = (try await test.orders().adding(slot), try await stranger.orders().adding(slot))
        try await RunningService.run(over: test, hasControl: true, logger: recorder.logger) { service in
            let served = RemoteVault(ControlClient(folder: service.folder))
            await #expect(throws: VaultError.self) { try await served.call(Operations.Keys.changeKeyring, forged) }
            try await served.call(Operations.Keys.changeKeyring, order)
            _ = try await served.call(Operations.Keys.rotate, RotationRequest())
            _ = try await served.follow(Operations.Keys.rewrap, EmptyDocument()) { _ in }
            _ = try await served.call(Operations.Keys.retire, RetirementRequest(generation: 1))
            try await served.call(Operations.Upkeep.revokeLinks)
            try await served.lock()
            try await served.lock()
        }
        let told = lines(recorder)
        #expect(told.allSatisfy { $0.level == .notice })
        let expected = [
            ("the vault was unlocked", [#""method": key-file"#, #""slot": 1"#]),
            ("an unlock failed", [#""reason": wrongKey"#, #""route": keyring"#]),
            ("a slot was added to the keyring", [#""act": slot-add"#, #""receipt": 1"#, #""outcome": done"#]),
            ("a new generation of keys is in use", [#""act": rotate"#, #""generation": 2"#, #""receipt": 2"#]),
            ("the keys of the titles were rewrapped", [#""resources": 0"#, #""receipt": 3"#]),
            ("a generation of keys was retired", [#""generation": 1"#, #""receipt": 4"#]),
            ("all playback links and tokens were revoked", [#""receipt": 5"#]),
            ("the vault was locked: its keys are wiped from memory", []),
        ]
        #expect(told.count == expected.count, "\(told.map(\.text))")
        for (line, (message, fields)) in zip(told, expected) {
            #expect(line.text.hasPrefix(message + " ["), "\(line.text)")
            for field in fields {
                #expect(line.text.contains(field), "\(line.text): \(field)")
            }
        }
        let key = try Data(contentsOf: URL(filePath: test.place.keyring + ".second"))
        #expect(recorder.lines.allSatisfy { !$0.text.contains(Hex.encode(Array(key))) })
    }

    @Test("A download that fails is one notice with its reason and the title's id, but not the title's URL")
    func failedDownload() async throws {
        let recorder = LogRecorder()
        let origin = try ScriptedOrigin { _ in ScriptedAnswer(404, fields: ["Content-Length": "0"]) }
        defer { origin.stop() }
        let url = origin.url("/secret-film?token=hunter2")
        let id = try await RunningService.run(
            over: try await TestVault(), hasControl: true, logger: recorder.logger
        ) { service in
            guard case .problem? = try await service.download(url).lastEvent() else {
                Issue.record("the download did not fail")
                return ""
            }
            let order = #"{"url":"\#(url.absoluteString)","detached":true}"#
            #expect(try await service.control("POST", "/api/v1/downloads", body: order).head.status == 202)
            while recorder.lines.count(where: { $0.text.hasPrefix("a download failed") }) < 2 {
                try await Task.sleep(for: .milliseconds(20))
            }
            return try await service.vault.titles.titleID(of: MediaReference(url)).description
        }
        let told = lines(recorder).filter { $0.text.hasPrefix("a download failed") }
        #expect(told.count == 2 && told.allSatisfy { $0.level == .notice })
        for line in told {
            for field in [#""reason": refused"#, #""originStatus": 404"#, #""id": \#(id)"#] {
                #expect(line.text.contains(field), "\(line.text): \(field)")
            }
        }
        #expect(recorder.lines.allSatisfy { !$0.text.contains("hunter2") && !$0.text.contains("secret-film") })
    }

    @Test("What was evicted shortly before the end of the service is in the log")
    func lastEvictions() async throws {
        let recorder = LogRecorder()
        let origin = try ScriptedOrigin(ScriptedResource(length: 900_000))
        defer { origin.stop() }
        try await RunningService.run(
            over: try await TestVault(), logger: recorder.logger, limits: StorageLimits(maxSize: 1 << 20)
        ) { service in
            for name in ["/a.mp4", "/b.mp4"] {
                #expect(try await service.ask("GET", origin.url(name))?.body.count == 900_000)
                // Waits until the bytes are durable.
                while try await service.vault.status().bytes < 900_000 {
                    try await Task.sleep(for: .milliseconds(20))
                }
            }
            while try await service.vault.status().evicted == 0 { try await Task.sleep(for: .milliseconds(20)) }
        }
        let told = lines(recorder).filter { $0.text.hasPrefix("media was evicted") }
        #expect(told.count == 1 && told.first?.text.contains(#""titles": 1"#) == true, "\(lines(recorder).map(\.text))")
    }

    @Test("A vault whose keyring lacks a key is no failed unlock when media is asked for")
    func errorsOfMedia() {
        let recorder = LogRecorder()
        let channel = EmbeddedChannel()
        var context = ServiceContext(
            source: ApplicationRequestContextSource(channel: channel, logger: recorder.logger))
        let metrics = ServiceMetrics()
        _ = context.begin("GET", .media, metrics)
        context.failed(VaultError(.foreignKeyring, "the keyring lacks the key"))
        #expect(lines(recorder).isEmpty)
        _ = context.begin("POST", .api(.keyring), metrics)
        context.failed(VaultError(.foreignKeyring, "the keyring lacks the key"))
        #expect(lines(recorder).count == 1)
    }

    @Test(
        "Each kind of key operation has a sentence of its own; one that this version does not know is told by its name")
    func sentences() {
        let known: [Receipt.Act] = [
            .rotate, .rotateRoot, .changeLocator, .rewrap, .reseal, .retire, .shred, .destroy, .revokeLinks, .addSlot,
            .removeSlot, .changeSlot, .backup,
        ]
        let told = (known + [Receipt.Act(rawValue: "later")]).map { act in
            LoggedEvent(
                Receipt(
                    sequence: 7, time: 0, act: act, outcome: .partly, generation: 3, subject: "5ec7e7", resources: nil))
        }
        #expect(Set(told.map(\.message.description)).count == known.count + 1)
        #expect(told.allSatisfy { $0.level == .notice && $0.fields["outcome"] == "partly" && $0.fields.count == 4 })
        #expect(told.last?.message == "a key operation was done" && told.last?.fields["act"] == "later")
    }
}
