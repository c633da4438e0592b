import Hummingbird
import MediaVault
import NIOCore
import VaultModel

/// Answers a request with a manifest's rewritten text.
struct ManifestAnswer {
    private let text: RewrittenManifest
    private let facts: MediaFacts
    /// Returns a random text to separate the parts of an answer that carries several ranges.
    private let boundary: () throws -> String

    init(_ text: RewrittenManifest, _ facts: MediaFacts, boundary: @escaping () throws -> String) {
        self.text = text
        self.facts = facts
        self.boundary = boundary
    }

    private var length: Int64 { Int64(text.bytes.count) }

    /// - Throws: ``VaultError`` with code `unsatisfiableRange` if the requested range contains no byte of the text.
    func response(to request: MediaRequest, _ context: ServiceContext) throws -> Response {
        switch request.conditions.verdict(on: facts.entityTag, facts.lastModified) {
        case .failed: return Response(ErrorAnswer.failedCondition, isHead: request.method == .head, context: context)
        case .notModified: return Response(headOf: AnswerPlan(notModified: facts), context: context)
        case .hold: break
        }
        if request.method == .head { return Response(headOf: AnswerPlan(facts, isRanged: false), context: context) }
        switch Selection(request, of: facts) {
        case .nothing: throw MediaResponder.nothing(of: length)
        case .whole: return response(AnswerPlan(facts, isRanged: false), text.bytes[...], context)
        case .single(let requested):
            guard let range = requested.resolved(length: length) else { throw MediaResponder.nothing(of: length) }
            var facts = facts
            facts.range = range
            return response(AnswerPlan(facts, isRanged: true), part(range), context)
        case .several(let ranges):
            let multipart = Multipart(boundary: try boundary(), type: facts.type, total: length, parts: ranges)
            let body = ranges.flatMap { Array(multipart.head(of: $0).utf8) + part($0) } + Array(multipart.end.utf8)
            return response(AnswerPlan(facts, multipart), body[...], context)
        }
    }

    private func part(_ range: ByteRange) -> ArraySlice<UInt8> {
        text.bytes[Int(range.lowerBound)..<Int(range.upperBound)]
    }

    private func response(_ plan: AnswerPlan, _ bytes: ArraySlice<UInt8>, _ context: ServiceContext) -> Response {
        Response(plan, TextBody(bytes: bytes), context: context)
    }
}

extension MediaFacts {
    /// Creates the facts of a manifest in the form in which players receive it.
    init(_ manifest: PlayableManifest, now: Int64) {
        let text = manifest.text
        var information = manifest.information
        information.length = Int64(text.bytes.count)
        information.type = text.type
        information.supportsRanges = true
        self.init(
            information: information, entityTag: text.entityTag, lastModified: .init(of: information, now: now),
            range: 0..<Int64(text.bytes.count), isWholeAnswer: false,
            cacheStatus: CacheStatus(
                manifest.source, manifest.bypass, manifest.staleness, originStatus: manifest.originStatus),
            originStatus: manifest.originStatus)
    }
}

/// Writes bytes that are in memory.
private struct TextBody: StreamedBody {
    let bytes: ArraySlice<UInt8>

    private static let pieceBytes = 128 << 10

    @concurrent
    func write(to writer: inout any ResponseBodyWriter, counting sent: inout Int64) async throws {
        var rest = bytes
        while !rest.isEmpty {
            let piece = rest.prefix(Self.pieceBytes)
            try await writer.write(ByteBuffer(bytes: piece))
            // In a cancelled task, a write may silently drop its bytes.
            try Task.checkCancellation()
            sent += Int64(piece.count)
            rest = rest.dropFirst(piece.count)
        }
    }
}
