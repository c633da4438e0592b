import Foundation
import MediaVault
import OriginTestSupport
import Testing
import VaultModel

@testable import VaultService

@Suite("Media by a socket file", .timeLimit(.minutes(5)))
struct MediaSocketTests {
    @Test("The socket serves what the port serves, to its owner, and goes with the service")
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
            // It is a way in, not a key.
            let unknown = try #require(await client.ask("GET", "/media/x", host: "anything"))
            #expect(unknown.head.status == 404)
            let page = try #require(
                await client.ask("GET", service.target(url), host: "anything", fields: ["Origin": "http://evil.test"]))
            #expect(page.head.status == 403)
        }
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    @Test("A path that is too long, or taken by a file, ends the service with a clear error and touches nothing")
    func impossible() async throws {
        let other = try await TestVault()
        let taken = other.place.folder + "/film.mp4"
        try Data("mine".utf8).write(to: URL(filePath: taken))
        for path in [taken, other.place.folder + "/" + String(repeating: "x", count: 200)] {
            let test = try await TestVault()
            var configuration = ServiceConfiguration()
            configuration.mediaSocket = path
            let error = await #expect(throws: VaultError.self) {
                try await RunningService.run(over: test, configuration: configuration) { _ in
                    // The port may listen before the socket has failed: then the service ends by itself.
                }
            }
            #expect(error?.code == .storage)
        }
        #expect(try String(contentsOfFile: taken, encoding: .utf8) == "mine")
    }
}
