import Foundation
package import MediaVault

/// A resource as `/api/v1/resource` and `info --json` tell it.
package struct ResourceDocument: Codable, Sendable {
    package let url: String
    package let size: OrNull<Int64>
    /// First byte and one past the last, of each run that is held.
    package let held: [[Int64]]
    package let bytes: Int64
    package let type: OrNull<String>
    package let etag: OrNull<String>
    package let `class`: String
    package let generation: Int
    /// The mode that it has for itself; null where it has the vault's.
    package let mode: OrNull<String>

    package init(_ summary: ResourceSummary) {
        url = summary.url
        size = OrNull(summary.size)
        held = summary.held.map { [$0.lowerBound, $0.upperBound] }
        bytes = summary.bytes
        type = OrNull(summary.type)
        etag = OrNull(summary.etag)
        `class` = summary.resourceClass
        generation = summary.generation
        mode = OrNull(summary.mode?.rawValue)
    }

    /// Whether every byte is held.
    package var isComplete: Bool { size.value == bytes }
}

/// A resource as `/api/v1/resources` and `list --json` tell it.
package struct ListedDocument: Codable, Sendable {
    package let url: String
    package let size: OrNull<Int64>
    package let bytes: Int64
    package let `class`: String
    package let type: OrNull<String>
    package let complete: Bool

    package init(_ summary: ResourceSummary) {
        url = summary.url
        size = OrNull(summary.size)
        bytes = summary.bytes
        `class` = summary.resourceClass
        type = OrNull(summary.type)
        complete = summary.isComplete
    }
}

/// Some resources, as `/api/v1/resources` tells them.
package struct PageDocument: Codable, Sendable {
    package let resources: [ListedDocument]
    /// How many resources of the page are not told, because their rows fail their tags.
    package let damaged: Int
    /// What `after` is for the next page; `null` at the end.
    package let next: OrNull<String>
}

/// Where the bytes of a resource come from, as `/api/v1/explanation` and `explain --json` tell it.
package struct ExplanationDocument: Codable, Sendable {
    /// Bytes side by side, and where they came from.
    package struct Run: Codable, Hashable, Sendable {
        package let first: Int64
        /// One past the last.
        package let end: Int64
        package let source: ByteTrace.Source
    }

    /// One answer.
    package struct Answer: Codable, Hashable, Sendable {
        /// Seconds since 1970; left out while the answer goes on.
        package let ended: Int64?
        package let bytes: Int64
        package let runs: [Run]
        /// Bytes of runs beyond those that are told.
        package let omitted: Int64
    }

    package let url: String
    package let size: OrNull<Int64>
    /// What the vault holds now: first byte and one past the last, of each run.
    package let held: [[Int64]]
    /// The last answers: those that go on first, then the last that ended.
    package let answers: [Answer]

    package init(_ summary: ResourceSummary?, url: String, answers: [AnswerTrace]) {
        self.url = summary?.url ?? url
        size = OrNull(summary?.size)
        held = summary?.held.map { [$0.lowerBound, $0.upperBound] } ?? []
        self.answers = answers.map { answer in
            Answer(
                ended: answer.ended, bytes: answer.trace.bytes,
                runs: answer.trace.runs.map {
                    Run(first: $0.range.lowerBound, end: $0.range.upperBound, source: $0.source)
                }, omitted: answer.trace.omitted)
        }
    }
}

/// What names a resource, in requests.
struct ReferenceDocument: Codable, Hashable, Sendable {
    /// The URL, with its query, and with credentials where it has some.
    let url: String
    /// The caller's own name for the resource.
    let contentID: String?
    /// Request fields for its origin, name and value. They are secrets: they stand in bodies, never in a query.
    let fields: [[String]]?

    init(url: String, contentID: String?, fields: [[String]]? = nil) {
        self.url = url
        self.contentID = contentID
        self.fields = fields
    }

    /// Tells a reference so that ``reference()`` gives the same again.
    init(_ reference: MediaReference) {
        let url = reference.url
        let credentials = url.userInfo.map { Self.escaped($0) + "@" } ?? ""
        self.init(
            url: url.absoluteString.replacing("://", with: "://" + credentials, maxReplacements: 1),
            contentID: reference.contentID,
            fields: reference.fields.fields.isEmpty ? nil : reference.fields.fields.map { [$0.name, $0.value] })
    }

    /// What the library takes.
    ///
    /// - Throws: ``VaultError`` with code `invalidURL` or `invalidArgument`.
    func reference() throws -> MediaReference {
        var given = HeaderFields()
        for field in fields ?? [] {
            guard field.count == 2 else {
                throw VaultError(.invalidArgument, "a request field is a name and a value; correct it")
            }
            given.append(name: field[0], value: field[1])
        }
        let reference = MediaReference(try MediaURL(url), contentID: contentID, fields: given)
        // What cannot be used is refused before an answer begins.
        _ = try reference.settled()
        return reference
    }

    private static func escaped(_ userInfo: String) -> String {
        // Of `user:password` the first colon alone is no part of either.
        userInfo.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            .map { $0.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "" }.joined(separator: ":")
    }
}

/// What the vault holds of a resource that has changed: the event `resource`.
package struct ChangeDocument: Codable, Sendable {
    /// What names the resource in this vault: it says nothing about it.
    package let id: String
    package let resource: ResourceDocument
}

/// A resource is no longer there: the event `removed`.
package struct GoneDocument: Codable, Hashable, Sendable {
    package let id: String
}

/// What removing a resource freed.
package struct RemovalDocument: Codable, Hashable, Sendable {
    /// The bytes of its files.
    package let bytes: Int64
    /// Whether its key is erased already: else it is within a minute, or when the vault is closed. Nil where a service does
    /// not say.
    package var isErased: Bool?

    private enum CodingKeys: String, CodingKey {
        case bytes
        case isErased = "erased"
    }
}
