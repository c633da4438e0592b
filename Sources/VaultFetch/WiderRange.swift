package import VaultModel

/// An origin whose parts begin and end as requested: what another sends around the range is cut off.
///
/// Some origins send whole blocks of theirs. That is a valid answer (RFC 9110 §15.3.7), and its bytes are right.
package struct TrimmingOrigin: Origin {
    private let base: any Origin

    package init(_ base: any Origin) { self.base = base }

    package func send(_ request: OriginRequest) async throws -> any OriginResponse {
        let response = try await base.send(request)
        guard let range = WiderRange(response.head, asked: request) else { return response }
        return TrimmedResponse(response, to: range)
    }
}

/// The label of a part that begins before what was asked, and contains its beginning.
package struct WiderRange: Hashable, Sendable {
    /// The bytes that the origin sends.
    package let sent: ByteRange
    /// Those that were requested.
    package let wanted: ByteRange
    private let total: Int64?

    /// - Returns: nil if the part begins as requested, does not contain the first requested byte, or does not state as
    ///   many bytes as its label: then the label may be wrong, and nobody knows which bytes these are.
    package init?(_ head: OriginHead, asked: OriginRequest) {
        let (labels, lengths) = (head.fields.values("Content-Range"), head.fields.values("Content-Length"))
        guard head.status == 206, asked.method == .get, let first = asked.first, labels.count == 1,
            case .bytes(let range, let total) = ContentRange(labels[0]), range.lowerBound < first,
            range.upperBound > first, lengths == [String(range.upperBound - range.lowerBound)],
            head.fields["Transfer-Encoding"] == nil
        else { return nil }
        sent = range
        wanted = first..<min(range.upperBound, asked.end ?? .max)
        self.total = total
    }

    /// Returns the head as if the origin had sent what was requested.
    package func trimmed(_ head: OriginHead) -> OriginHead {
        var head = head
        head.fields = head.fields.without("Content-Range").without("Content-Length")
        head.fields.append(name: "Content-Range", value: ContentRange.bytes(wanted, total: total).description)
        head.fields.append(name: "Content-Length", value: String(wanted.upperBound - wanted.lowerBound))
        return head
    }
}

/// A response without the bytes around the requested range.
private final class TrimmedResponse: OriginResponse {
    let head: OriginHead
    private let base: any OriginResponse
    private let range: WiderRange
    /// The offset of the next byte that the origin sends.
    private let position: Locked<Int64>

    init(_ base: any OriginResponse, to range: WiderRange) {
        (self.base, self.range) = (base, range)
        head = range.trimmed(base.head)
        position = Locked(range.sent.lowerBound)
    }

    func nextBytes() async throws -> [UInt8]? {
        while !isOver, let bytes = try await base.nextBytes() {
            let wanted = trimmed(bytes)
            if !wanted.isEmpty { return wanted }
        }
        return nil
    }

    func cancel() { base.cancel() }

    func end() -> [[UInt8]] { base.end().map(trimmed).filter { !$0.isEmpty } }

    /// Whether only bytes follow that nobody requested; where none should follow, one more shows that the label is wrong.
    private var isOver: Bool {
        range.wanted.upperBound < range.sent.upperBound && position.withLock { $0 >= range.wanted.upperBound }
    }

    private func trimmed(_ bytes: [UInt8]) -> [UInt8] {
        let first = position.withLock { position in
            defer { position += Int64(bytes.count) }
            return position
        }
        let cut = range.wanted.upperBound < range.sent.upperBound ? max(0, range.wanted.upperBound - first) : .max
        let early = min(max(0, range.wanted.lowerBound - first), Int64(bytes.count))
        return Array(bytes.prefix(Int(min(cut, Int64(bytes.count)))).dropFirst(Int(early)))
    }
}
