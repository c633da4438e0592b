import MediaVaultTesting
import Testing
import VaultFetch
import VaultModel

/// One fault of a transport, the requirement that names it, and the vault's own transport with that fault.
struct Fault: Sendable, CustomTestStringConvertible {
    typealias Send = @Sendable (_ request: OriginRequest, _ inner: any Origin) async throws -> any OriginResponse

    let testDescription: String
    let requirement: OriginConformance.Requirement
    /// Whether the fault is that something never comes, so that only a time limit shows it.
    let isSilence: Bool
    /// The hosts that redirects may lead to, beside those that the checks allow.
    private let otherHosts: Set<String>
    private let send: Send

    init(
        _ name: String, _ requirement: OriginConformance.Requirement, isSilence: Bool = false,
        otherHosts: Set<String> = [],
        send: @escaping Send = { request, inner in try await inner.send(request) }
    ) {
        (testDescription, self.requirement, self.isSilence) = (name, requirement, isSilence)
        (self.otherHosts, self.send) = (otherHosts, send)
    }

    func origin(allowing hosts: Set<String>) -> any Origin {
        FaultyOrigin(inner: .make(allowing: hosts.union(otherHosts)), send: send)
    }

    static let all = ofRequests + ofRedirects + ofHeads + ofBodies + ofFailures + ofEnds

    private struct FaultyOrigin: Origin {
        let inner: CurlOrigin
        let send: Send

        func send(_ request: OriginRequest) async throws -> any OriginResponse { try await send(request, inner) }
    }
}

extension CurlOrigin {
    /// The vault's own transport, whose redirects may lead to these hosts although they are private.
    static func make(allowing hosts: Set<String>) -> CurlOrigin {
        var configuration = CurlConfiguration(userAgent: "MediaVault/test")
        configuration.allowsPrivate = { hosts.contains($0) }
        return CurlOrigin(configuration: configuration)
    }
}

/// An answer of a transport, of which a fault has changed something.
final class FaultyResponse: OriginResponse {
    let head: OriginHead
    private let next: @Sendable () async throws -> [UInt8]?
    private let onCancel: @Sendable () -> Void
    private let onEnd: @Sendable () -> [[UInt8]]

    init(
        _ inner: any OriginResponse, head: OriginHead? = nil,
        next: (@Sendable () async throws -> [UInt8]?)? = nil, onCancel: (@Sendable () -> Void)? = nil,
        onEnd: (@Sendable () -> [[UInt8]])? = nil
    ) {
        self.head = head ?? inner.head
        self.next = next ?? { try await inner.nextBytes() }
        self.onCancel = onCancel ?? { inner.cancel() }
        self.onEnd = onEnd ?? { inner.end() }
    }

    /// An answer without a body that nobody sent.
    init(status: Int) {
        head = OriginHead(status: status, fields: [:])
        (next, onCancel, onEnd) = ({ nil }, {}, { [] })
    }

    func nextBytes() async throws -> [UInt8]? { try await next() }
    func cancel() { onCancel() }
    func end() -> [[UInt8]] { onEnd() }
}

extension OriginResponse {
    /// Returns the same answer with another head.
    func changing(_ change: (inout OriginHead) -> Void) -> FaultyResponse {
        var changed = head
        change(&changed)
        return FaultyResponse(self, head: changed)
    }
}

/// What a faulty transport remembers.
final class Memory<Value: Sendable>: Sendable {
    private let value: Locked<Value>

    init(_ value: Value) { self.value = Locked(value) }

    func update<Result: Sendable>(_ change: @Sendable (inout Value) -> Result) -> Result {
        value.withLock { change(&$0) }
    }
}
