import Logging
import MediaVault

/// An operation of the API: how a client requests it, who may do so, and what it does with a vault.
///
/// Clients send its input in the query of GET and DELETE, and in the body of every other method, except for an id that
/// belongs in the path. The service, a command that has the vault open, and a command that calls the service all
/// perform the same value.
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

/// A long operation that reports its progress.
package struct LongOperation<Input: Codable & Sendable, Progress: Codable & Sendable, Output: Codable & Sendable>:
    Sendable
{
    /// The long part of the operation.
    typealias Act = @Sendable (_ tell: (Progress) async throws -> Void) async throws -> Output

    let endpoint: Endpoint
    /// Checks the input before the answer begins, and returns the long part.
    let begin: @Sendable (Input, Vault, Caller) async throws -> Act

    init(
        _ method: Endpoint.Method, _ path: String, scope: AccessScope,
        _ begin: @escaping @Sendable (Input, Vault, Caller) async throws -> Act
    ) {
        endpoint = OperationInput.endpoint(method, path, scope, isForViewers: false, Input.self)
        self.begin = begin
    }
}

/// How a request carries the input of an operation.
enum OperationInput {
    /// The usual maximum length of a body in bytes. It suffices for a URL, some header fields and a few numbers, or for
    /// the files in the settings, even if the client escapes each character.
    static let maxBytes = 1 << 20

    /// The input member that a request carries in the path, if the path has a place for it.
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

/// The caller of an operation.
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

    /// The user of this process, which itself has the vault open and writes no log.
    static let local = Caller(
        isControl: true, access: nil, viewer: nil, logger: Logger(label: "local") { _ in SwiftLogNoOpLogHandler() })
}

/// An operation of either kind.
protocol AnyOperation: Sendable {
    var endpoint: Endpoint { get }
    /// Lets a runner, which knows the input and output types, run the operation.
    func run<Runner: OperationRunner>(by runner: Runner) async throws -> Runner.Answer
}

/// Runs operations of any input and output types.
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
    static let all: [any AnyOperation] =
        Titles.all + Upkeep.all + Keys.all + Grants.all + Viewers.all + Feeds.all
        + Collections.all

    /// Returns the operation of an endpoint; nil if the endpoint does not return a document.
    static func find(_ endpoint: Endpoint) -> (any AnyOperation)? { byEndpoint[endpoint] }

    private static let byEndpoint = Dictionary(uniqueKeysWithValues: all.map { ($0.endpoint, $0) })
}
