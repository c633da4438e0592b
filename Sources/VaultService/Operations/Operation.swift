import Logging
import MediaVault

/// One operation of the API as one value: how a client asks for it, who may, and what it does with a vault.
///
/// Its input travels as the query of GET and DELETE, and as the body of every other method, apart from an id for which
/// the path has a place. The service, a command that has the vault open, and a command that asks the service all perform
/// this one value.
package struct Operation<Input: Codable & Sendable, Output: Codable & Sendable>: Sendable {
    let endpoint: Endpoint
    /// The maximum length of the body in bytes.
    let maxBytes: Int
    let run: @Sendable (Input, Vault, Caller) async throws -> Output

    init(
        _ method: Endpoint.Method, _ path: String, scope: AccessScope, isForViewers: Bool = false,
        maxBytes: Int = OperationInput.maxBytes,
        _ run: @escaping @Sendable (Input, Vault, Caller) async throws -> Output
    ) {
        endpoint = OperationInput.endpoint(method, path, scope, isForViewers: isForViewers, Input.self)
        (self.maxBytes, self.run) = (maxBytes, run)
    }
}

/// An operation that takes long and reports its progress.
package struct LongOperation<Input: Codable & Sendable, Progress: Codable & Sendable, Output: Codable & Sendable>:
    Sendable
{
    /// The part of the operation that takes long.
    typealias Act = @Sendable (_ tell: (Progress) async throws -> Void) async throws -> Output

    let endpoint: Endpoint
    /// Checks the input before the answer begins, and returns the part that takes long.
    let begin: @Sendable (Input, Vault, Caller) async throws -> Act

    init(
        _ method: Endpoint.Method, _ path: String, scope: AccessScope,
        _ begin: @escaping @Sendable (Input, Vault, Caller) async throws -> Act
    ) {
        endpoint = OperationInput.endpoint(method, path, scope, isForViewers: false, Input.self)
        self.begin = begin
    }
}

/// How the input of an operation travels.
enum OperationInput {
    /// The usual maximum length of a body in bytes. It suffices for a URL, some header fields and a few numbers, or for
    /// the files in the settings, even if the client escapes each character.
    static let maxBytes = 1 << 20

    /// The member of an input that travels in a path that has a place for it.
    static let id = "id"

    static func endpoint(
        _ method: Endpoint.Method, _ path: String, _ scope: AccessScope, isForViewers: Bool, _ input: any Codable.Type
    ) -> Endpoint {
        let isQuery = method == .get || method == .delete
        var members = StrictDecoder.members(of: input)
        if APIRoute(rawValue: path).hasID { members.remove(id) }
        return Endpoint(
            method, path, scope: scope, isForViewers: isForViewers, parameters: isQuery ? members : [],
            hasBody: !isQuery && !members.isEmpty)
    }
}

/// Who asks for an operation.
package struct Caller: Sendable {
    /// Whether the request came from the service's own machine: through the control socket, or from this process.
    let isControl: Bool
    /// The access that the request's token or session grants; nil if it needed neither.
    let access: TokenAccess?
    /// The viewer who has signed in; nil for the owner.
    let viewer: ViewerID?
    private let makeLogger: @Sendable () -> Logger

    /// A logger for what the operation does. It is created on demand because most operations log nothing.
    var logger: Logger { makeLogger() }

    init(
        isControl: Bool, access: TokenAccess?, viewer: ViewerID?, logger: @escaping @Sendable @autoclosure () -> Logger
    ) {
        (self.isControl, self.access, self.viewer, makeLogger) = (isControl, access, viewer, logger)
    }

    /// The user of this process, which has the vault open itself and writes no log.
    static let local = Caller(
        isControl: true, access: nil, viewer: nil, logger: Logger(label: "local") { _ in SwiftLogNoOpLogHandler() })
}

/// An operation of either kind.
protocol AnyOperation: Sendable {
    var endpoint: Endpoint { get }
    /// Has the operation run by what knows its input and its answer.
    func run<Runner: OperationRunner>(by runner: Runner) async throws -> Runner.Answer
}

/// Runs operations whose types are known only here.
protocol OperationRunner {
    associatedtype Answer

    func run<Input, Output>(_ operation: Operation<Input, Output>) async throws -> Answer
    func run<Input, Progress, Output>(_ operation: LongOperation<Input, Progress, Output>) async throws -> Answer
}

extension Operation: AnyOperation {
    func run<Runner: OperationRunner>(by runner: Runner) async throws -> Runner.Answer { try await runner.run(self) }
}

extension LongOperation: AnyOperation {
    func run<Runner: OperationRunner>(by runner: Runner) async throws -> Runner.Answer { try await runner.run(self) }
}

/// The operations of the API, each with its feature.
package enum Operations {
    static let all: [any AnyOperation] = Titles.all + Upkeep.all + Keys.all + Grants.all + Viewers.all + Feeds.all

    /// Returns the operation of an endpoint; nil if the answer of the endpoint is no document.
    static func find(_ endpoint: Endpoint) -> (any AnyOperation)? { byEndpoint[endpoint] }

    private static let byEndpoint = Dictionary(uniqueKeysWithValues: all.map { ($0.endpoint, $0) })
}
