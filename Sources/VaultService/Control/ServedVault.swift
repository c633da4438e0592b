package import MediaVault
import NIOHTTP1
import VaultModel

/// A vault that a service owns, reached by its control socket. It takes no key.
package final class ServedVault: VaultOperator {
    private let client: ControlClient
    /// Whether the service has answered already.
    private let isKnown = Locked(false)

    package init(_ client: ControlClient) { self.client = client }

    package func status() async throws -> StatusDocument { try await document(ControlQuestion(.GET, .status)) }

    package func resources(after: String?, limit: Int?) async throws -> PageDocument {
        try await document(ControlQuestion(.GET, .resources, ["after": after, "limit": limit.map(String.init)]))
    }

    package func resource(_ reference: MediaReference) async throws -> ResourceDocument? {
        do {
            return try await document(ControlQuestion(.resource, reference: reference))
        } catch let error as VaultError where error.code == .notHeld {
            return nil
        }
    }

    package func download(
        _ reference: MediaReference, _ options: DownloadOptions, progress: (ProgressDocument) async throws -> Void
    ) async throws {
        let order = DownloadOrder(reference, options, isDetached: false)
        let _: NothingDocument = try await events(ControlQuestion(.POST, .downloads, body: order), progress)
    }

    package func beginDownload(_ reference: MediaReference, _ options: DownloadOptions) async throws {
        let order = DownloadOrder(reference, options, isDetached: true)
        let _: NothingDocument = try await document(ControlQuestion(.POST, .downloads, body: order))
    }

    /// The document that answers a question.
    func document<Document: Decodable>(_ question: ControlQuestion) async throws -> Document {
        try await ask(question) { answer in try JSONText.read(from: try await answer.whole()) }
    }

    /// Follows a long act; returns what its last line says.
    func events<Progress: Codable & Sendable, Outcome: Codable & Sendable>(
        _ question: ControlQuestion, _ progress: (Progress) async throws -> Void
    ) async throws -> Outcome {
        try await ask(question) { answer in
            while let line = try await answer.line() {
                switch try JSONText.read(EventDocument<Progress, Outcome>.self, from: line) {
                case .progress(let step): try await progress(step)
                case .done(let outcome): return outcome
                case .problem(let problem): throw Self.error(problem)
                }
            }
            throw Self.strange
        }
    }

    /// Asks, and reads an answer that is no problem.
    func ask<Value>(
        _ question: ControlQuestion, _ read: (inout ControlAnswer) async throws -> Value
    ) async throws -> Value {
        do {
            return try await client.ask(question) { answer in
                isKnown.withLock { $0 = true }
                guard answer.head.status.code < 300 else {
                    throw Self.error(try JSONText.read(from: try await answer.whole()))
                }
                return try await read(&answer)
            }
        } catch is DecodingError {
            throw Self.strange
        } catch is ServiceGone where isKnown.withLock(\.self) {
            throw VaultError(.closed, "the service has ended; run the command again to go on without it")
        }
    }

    /// What a service says that could not become the owner.
    private static let readsOnly = VaultError(
        .owned,
        "the service that runs only reads the vault, because the disk was full when it began; make room, end it and "
            + "start it again")

    private static func error(_ problem: ProblemDocument) -> VaultError {
        guard problem.error?.code != .owned else { return readsOnly }
        return problem.error ?? VaultError(.closed, "the service refuses this: \(problem.detail ?? problem.title)")
    }

    private static let strange = VaultError(
        .closed, "the service's answer cannot be understood; it may be of another version: end it and start it anew")
}
