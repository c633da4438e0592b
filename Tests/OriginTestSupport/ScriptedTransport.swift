import Synchronization
package import VaultModel

/// An app's transport that answers by script, without connections. It passes on what its script sends.
package final class ScriptedTransport: Origin {
    private let script: @Sendable (ScriptedRequest) -> ScriptedAnswer
    private let counted = Mutex(0)
    /// The number of requests per connection.
    private static let requestsOfConnection = 3

    package init(_ script: @escaping @Sendable (ScriptedRequest) -> ScriptedAnswer) { self.script = script }

    /// The number of answers so far.
    package var count: Int { counted.withLock(\.self) }

    package func send(_ request: OriginRequest) async throws -> any OriginResponse {
        let number = counted.withLock { count in
            defer { count += 1 }
            return count
        }
        let request = ScriptedRequest(request, number: number, connection: number / Self.requestsOfConnection)
        let answer = script(request)
        for step in answer.before { try await Self.wait(at: step) }
        guard answer.rawHead == nil else { throw OriginFailure(.invalidResponse, "the response is not HTTP") }
        var fields = HeaderFields()
        for field in answer.fields { fields.append(name: field.name, value: field.value) }
        let head = OriginHead(status: answer.status, fields: fields, connection: UInt64(request.connection))
        return Response(head, request.method == "HEAD" ? [] : answer.body)
    }

    /// Waits as a step says.
    fileprivate static func wait(at step: ScriptedStep) async throws {
        switch step {
        case .pause(let duration): try await Task.sleep(for: duration)
        case .hold: try await Task.sleep(for: .seconds(86_400))
        case .close, .reset: throw OriginFailure(.unreachable, "closed without a response")
        case .bytes, .media: break
        }
    }

    private final class Response: OriginResponse {
        let head: OriginHead
        private let steps: Mutex<[ScriptedStep]>
        /// The maximum number of bytes passed on at a time.
        private static let pieceSize: Int64 = 16 * 1024

        init(_ head: OriginHead, _ body: [ScriptedStep]) {
            self.head = head
            steps = Mutex(body)
        }

        func nextBytes() async throws -> [UInt8]? {
            while let step = steps.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) {
                let (first, rest) = step.split(at: min(step.length, Self.pieceSize))
                if rest.length > 0 { steps.withLock { $0.insert(rest, at: 0) } }
                switch first {
                case .bytes(let bytes) where !bytes.isEmpty: return bytes
                case .media(let media, let range) where !range.isEmpty: return media.bytes(range)
                // A careless transport treats any end as a proper one.
                case .close where head.status == 206: return nil
                case .close, .reset: throw OriginFailure(.interrupted, "connection lost")
                default: try await ScriptedTransport.wait(at: first)
                }
            }
            return nil
        }

        func cancel() { steps.withLock { $0 = [] } }

        func end() -> [[UInt8]] {
            cancel()
            return []
        }
    }
}
