@testable import VaultService

/// Reads a stream of server-sent events.
struct EventReader {
    let client: RawClient
    /// Every event received so far.
    private(set) var seen: [(name: String, data: String)] = []
    private var text = ""

    init(_ client: RawClient) { self.client = client }

    /// Returns the first wanted document of an event name, among the events received and those that follow.
    ///
    /// - Returns: nil if the stream ends first.
    mutating func first<Document: Decodable>(
        _ name: String, _ type: Document.Type, _ isWanted: (Document) -> Bool
    ) async throws -> Document? {
        var looked = 0
        while true {
            for event in seen[looked...] where event.name == name {
                let document = try JSONText.read(type, from: Array(event.data.utf8))
                if isWanted(document) { return document }
            }
            looked = seen.count
            guard let chunk = await client.readChunk() else { return nil }
            take(String(decoding: chunk, as: UTF8.self))
        }
    }

    private mutating func take(_ more: String) {
        text += more
        while let end = text.firstRange(of: "\n\n") {
            let lines = text[..<end.lowerBound].split(separator: "\n")
            text.removeSubrange(..<end.upperBound)
            let name = lines.first { $0.hasPrefix("event: ") }?.dropFirst(7)
            let data = lines.first { $0.hasPrefix("data: ") }?.dropFirst(6)
            if let name, let data { seen.append((String(name), String(data))) }
        }
    }
}
