import Foundation
import GRDB
import MediaVault

/// An origin without a network: every URL has the same thousand bytes.
struct Clip: Origin {
    static let bytes = (0..<1000).map { UInt8(truncatingIfNeeded: $0) }

    func send(_ request: OriginRequest) async throws -> any OriginResponse {
        let first = request.first ?? 0
        let end = request.end ?? Int64(Self.bytes.count)
        let fields: HeaderFields = [
            "Content-Type": "video/mp4", "ETag": "\"1\"", "Content-Length": "\(end - first)",
            "Content-Range": "bytes \(first)-\(end - 1)/\(Self.bytes.count)",
        ]
        let head = OriginHead(status: request.first == nil ? 200 : 206, fields: fields)
        return ClipResponse(head: head, body: Array(Self.bytes[Int(first)..<Int(end)]))
    }
}

actor Body {
    private var rest: [UInt8]?

    init(_ bytes: [UInt8]) { rest = bytes }

    func next() -> [UInt8]? {
        defer { rest = nil }
        return rest
    }
}

final class ClipResponse: OriginResponse {
    let head: OriginHead
    private let body: Body

    init(head: OriginHead, body: [UInt8]) { (self.head, self.body) = (head, Body(body)) }

    func nextBytes() async throws -> [UInt8]? { await body.next() }
    func cancel() {}
    func end() -> [[UInt8]] { [] }
}

@main
enum Player {
    static func main() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "player-\(UUID())")
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.path
        let place = VaultPlace(folder: path + "/vault", keyring: path + "/keyring.json")
        let unlock = Unlock.keyFile(path: path + "/key")
        _ = try await Vault.initialize(place, unlock: unlock)
        let vault = try await Vault.open(place, unlock: unlock, options: VaultOptions(origin: Clip()))
        var played: [UInt8] = []
        let clip = try MediaURL("https://host.example/clip.mp4")
        for try await bytes in try await vault.read(clip, range: .closed(first: 100, last: 299)) { played += bytes }
        await vault.close()
        let isRight = played == Array(Clip.bytes[100...299])
        let rows = try await DatabaseQueue().read { try Int.fetchOne($0, sql: "SELECT 2") }
        print(isRight && rows == 2 ? "played" : "\(played.count) bytes, \(rows ?? 0) rows")
    }
}
