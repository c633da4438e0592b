import Hummingbird
import MediaVault

/// Answers one request with the result of an operation.
struct OperationResponder: OperationRunner {
    let vault: Vault
    let asked: APIRequest
    let request: Request
    let context: ServiceContext

    private var caller: Caller {
        Caller(isControl: context.isControl, access: context.access, viewer: context.viewer, logger: context.logger)
    }

    func run<Input, Output>(_ operation: Operation<Input, Output>) async throws -> Response {
        let output = try await operation.run(asked.input(upTo: operation.maxBytes), vault, caller)
        return Response(try .json(output), isHead: request.method == .head, context: context)
    }

    func run<Input, Progress, Output>(_ operation: LongOperation<Input, Progress, Output>) async throws -> Response {
        let act = try await operation.begin(asked.input(), vault, caller)
        let events: EventStream<Progress, Output>.Act = { tell in try await act { tell($0) } }
        return Response(of: events, context: context)
    }
}
