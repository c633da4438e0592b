import NIOCore
import NIOHTTP1
import NIOPosix
import VaultModel

/// Asks a service by its control socket: each question on a connection of its own.
package struct ControlClient: Sendable {
    private typealias Connection = NIOAsyncChannel<HTTPClientResponsePart, HTTPClientRequestPart>

    private let folder: String

    /// - Parameter folder: the vault's.
    package init(folder: String) { self.folder = folder }

    /// Whether a service answers.
    package func isAnswered() async -> Bool {
        guard let connection = try? await connect() else { return false }
        try? await connection.executeThenClose { _, _ in }
        return true
    }

    /// Asks, and hands the answer to `read` as it comes.
    ///
    /// - Throws: ``ServiceGone`` where there is no answer; what `read` throws.
    func ask<Value>(_ question: ControlQuestion, _ read: (inout ControlAnswer) async throws -> Value) async throws
        -> Value
    {
        try await connect().executeThenClose { inbound, outbound in
            do {
                try await outbound.write(.head(question.head))
                try await outbound.write(.body(.byteBuffer(ByteBuffer(bytes: question.body))))
                try await outbound.write(.end(nil))
            } catch is IOError, is ChannelError {
                throw ServiceGone()
            }
            var answer = try await ControlAnswer(inbound.makeAsyncIterator())
            return try await read(&answer)
        }
    }

    private func connect() async throws -> Connection {
        guard let address = ControlAddress(folder: folder) else { throw ServiceGone() }
        defer { withExtendedLifetime(address) {} }
        do {
            return try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
                .connectTimeout(.seconds(5))
                .connect(unixDomainSocketPath: address.path) { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHTTPClientHandlers()
                        return try Connection(wrappingChannelSynchronously: channel)
                    }
                }
        } catch is IOError, is ChannelError {
            throw ServiceGone()
        }
    }
}
