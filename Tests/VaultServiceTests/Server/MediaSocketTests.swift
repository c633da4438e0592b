import Foundation
import Logging
import MediaVault
import OriginTestSupport
import Testing
import VaultModel

@testable import VaultService

@Suite("Media over a socket file", .timeLimit(.minutes(5)))
struct MediaSocketTests {
    @Test("The socket serves its owner what the port serves, and is removed with the service")
    func serves() async throws {
        let origin = try ScriptedOrigin(ScriptedResource(length: 1000))
        let url = origin.url("/a/film.mp4")
        let test = try await TestVault()
        let path = test.place.folder + "/media.sock"
        var configuration = ServiceConfiguration()
        configuration.mediaSocket = path
        try await RunningService.run(over: test, configuration: configuration) { service in
            let attributes = try FileManager.default.attributesOfItem(atPath: path)
            #expect(attributes[.posixPermissions] as? Int == 0o600)
            let client = try RawClient(path: path)
            let answer = try #require(
                await client.ask("GET", service.target(url), host: "anything", fields: ["Range": "bytes=10-19"]))
            #expect(answer.head.status == 206 && answer.body.count == 10)
            // The socket does not replace the capability.
            let unknown = try #require(await client.ask("GET", "/media/x", host: "anything"))
            #expect(unknown.head.status == 404)
            let page = try #require(
                await client.ask("GET", service.target(url), host: "anything", fields: ["Origin": "http://evil.test"]))
            #expect(page.head.status == 403)
        }
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    private func configuration(_ path: String) -> ServiceConfiguration {
        var configuration = ServiceConfiguration()
        configuration.mediaSocket = path
        return configuration
    }

    private func status(_ path: String) async throws -> Int? {
        try await RawClient(path: path).ask("GET", "/healthz", host: "anything")?.head.status
    }

    @Test("A socket that another program listens on ends the service with a clear error, and is left in place")
    func occupied() async throws {
        let (test, other) = (try await TestVault(), try await TestVault())
        let path = other.place.folder + "/media.sock"
        try await RunningService.run(over: other, configuration: configuration(path)) { _ in
            let error = await #expect(throws: VaultError.self) {
                try await RunningService.run(over: test, configuration: configuration(path)) { _ in
                    // The port may be ready before the socket fails; the service then ends.
                }
            }
            #expect(error?.code == .storage && error?.message.contains("already in use") == true)
            let answered = try await status(path)
            #expect(answered == 200)
        }
    }

    @Test("A socket path in a missing folder ends the service with one error, and logs no other")
    func withoutFolder() async throws {
        let test = try await TestVault()
        let recorder = LogRecorder()
        let path = test.place.folder + "/nowhere/media.sock"
        let error = await #expect(throws: VaultError.self) {
            try await RunningService.run(
                over: test, configuration: configuration(path), logger: recorder.logger
            ) { _ in }
        }
        #expect(error?.message.contains("its folder does not exist") == true)
        #expect(recorder.lines.filter { $0.level >= .error }.map(\.text) == [])
    }

    @Test("A socket left by a killed service is replaced")
    func stale() async throws {
        let test = try await TestVault()
        let path = test.place.folder + "/media.sock"
        try await RunningService.run(over: test, configuration: configuration(path)) { _ in
            // A hard link to the socket outlives the service.
            try FileManager.default.linkItem(atPath: path, toPath: path + ".left")
        }
        try FileManager.default.moveItem(atPath: path + ".left", toPath: path)
        try await RunningService.run(over: test, configuration: configuration(path)) { _ in
            let answered = try await status(path)
            #expect(answered == 200)
        }
    }

    @Test("A file that another program put in the socket's place is kept when the service ends")
    func supplanted() async throws {
        let (test, other) = (try await TestVault(), try await TestVault())
        let path = other.place.folder + "/media.sock"
        try await RunningService.run(over: other, configuration: configuration(path)) { _ in
            try FileManager.default.moveItem(atPath: path, toPath: path + ".aside")
            try await RunningService.run(over: test, configuration: configuration(path)) { _ in
                let answered = try await status(path)
                #expect(answered == 200)
                try FileManager.default.removeItem(atPath: path)
                try FileManager.default.moveItem(atPath: path + ".aside", toPath: path)
            }
            let answered = try await status(path)
            #expect(answered == 200)
        }
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    @Test("A path that is too long, or taken by a file, ends the service with a clear error and touches nothing")
    func impossible() async throws {
        let other = try await TestVault()
        let taken = other.place.folder + "/film.mp4"
        try Data("mine".utf8).write(to: URL(filePath: taken))
        let before = try FileManager.default.contentsOfDirectory(atPath: other.place.folder).sorted()
        for path in [taken, other.place.folder + "/" + String(repeating: "x", count: 200)] {
            let test = try await TestVault()
            var configuration = ServiceConfiguration()
            configuration.mediaSocket = path
            let error = await #expect(throws: VaultError.self) {
                try await RunningService.run(over: test, configuration: configuration) { _ in
                    // The port may be ready before the socket fails; the service then ends.
                }
            }
            #expect(error?.code == .storage)
        }
        #expect(try String(contentsOfFile: taken, encoding: .utf8) == "mine")
        #expect(try FileManager.default.contentsOfDirectory(atPath: other.place.folder).sorted() == before)
    }
}
