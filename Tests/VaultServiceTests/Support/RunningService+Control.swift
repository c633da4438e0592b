import Foundation
import MediaVault
import Testing
import VaultModel

@testable import VaultService

extension RunningService {
    /// Connects a client to the control socket.
    func controlClient() throws -> RawClient { try RawClient(path: folder + "/control.sock") }

    /// Sends a request over the control socket, on its own connection.
    func control(
        _ method: String = "GET", _ target: String, body: String = ""
    ) async throws -> (head: RawHead, body: [UInt8]) {
        try #require(await controlClient().ask(method, target, host: "localhost", body: body))
    }

    /// Starts a download over the control socket, and reads the head of its answer.
    func download(_ url: MediaURL) async throws -> RawClient {
        let client = try controlClient()
        await client.request(
            "POST", "/api/v1/downloads", host: "localhost", body: #"{"url":"\#(url.absoluteString)"}"#)
        let head = try #require(await client.readHead())
        #expect(head.status == 200 && head.fields["content-type"] == "application/x-ndjson")
        return client
    }
}

extension RawClient {
    /// Reads the next event of an NDJSON answer, or returns nil at its end.
    func event() async throws -> EventDocument<DownloadProgress, EmptyDocument>? {
        guard let chunk = await readChunk() else { return nil }
        #expect(chunk.last == UInt8(ascii: "\n") && chunk.count { $0 == UInt8(ascii: "\n") } == 1)
        return try JSONText.read(from: chunk)
    }

    /// Reads all remaining events, and returns the last.
    func lastEvent() async throws -> EventDocument<DownloadProgress, EmptyDocument>? {
        var last: EventDocument<DownloadProgress, EmptyDocument>?
        while let event = try await event() { last = event }
        return last
    }
}
