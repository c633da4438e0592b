import Foundation
import MediaVault
import NIOCore
import NIOHTTP1
import NIOPosix
import VaultModel

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// A client of a service's control socket. It opens one connection per request.
package struct ControlClient: Sendable {
    private typealias Connection = NIOAsyncChannel<HTTPClientResponsePart, HTTPClientRequestPart>

    private let folder: String

    /// - Parameter folder: the vault's folder.
    package init(folder: String) { self.folder = folder }

    /// Returns whether a service accepts connections on the control socket.
    package func isAnswered() async -> Bool {
        guard let connection = try? await connect() else { return false }
        try? await connection.executeThenClose { _, _ in }
        return true
    }

    /// Sends a request, and passes the answer to `read` as it arrives.
    ///
    /// - Throws: ``ServiceGone`` if no answer arrives, or any error that `read` throws.
    func ask<Value>(_ request: ControlRequest, _ read: (inout ControlAnswer) async throws -> Value) async throws
        -> Value
    {
        try await connect().executeThenClose { inbound, outbound in
            do {
                try await outbound.write(.head(request.head))
                try await outbound.write(.body(.byteBuffer(ByteBuffer(bytes: request.body))))
                try await outbound.write(.end(nil))
            } catch is IOError, is ChannelError {
                throw ServiceGone()
            }
            var answer = try await ControlAnswer(inbound.makeAsyncIterator())
            return try await read(&answer)
        }
    }

    /// Sends a request with a long body, and returns the answer, which may arrive before the whole body has been sent.
    ///
    /// - Parameter next: returns the next bytes of the body; nil at its end. If the closure throws, the request is
    ///   aborted.
    /// - Throws: ``ServiceGone`` if no answer arrives, or any error that `next` throws.
    func upload(
        _ request: ControlRequest, _ next: @escaping @Sendable () async throws -> [UInt8]?
    ) async throws -> Uploaded {
        try await connect().executeThenClose { inbound, outbound in
            try await withThrowingTaskGroup(of: Uploaded?.self) { group in
                group.addTask {
                    do {
                        try await outbound.write(.head(request.head))
                        while let bytes = try await next() {
                            try await outbound.write(.body(.byteBuffer(ByteBuffer(bytes: bytes))))
                        }
                        try await outbound.write(.end(nil))
                    } catch is IOError, is ChannelError {
                        // The service stopped reading the body. Its answer states the reason.
                    }
                    return nil
                }
                group.addTask {
                    var answer = try await ControlAnswer(inbound.makeAsyncIterator())
                    return Uploaded(status: answer.head.status, body: try await answer.whole())
                }
                defer { group.cancelAll() }
                while let end = try await group.next() {
                    if let end { return end }
                }
                throw ServiceGone()
            }
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

/// The answer to a request with a long body.
struct Uploaded: Sendable {
    let status: HTTPResponseStatus
    let body: [UInt8]
}

/// A request to the control socket.
struct ControlRequest: Sendable {
    let head: HTTPRequestHead
    let body: [UInt8]

    /// Creates a request with a document as its body.
    init(_ method: HTTPMethod, _ route: APIRoute, body: some Encodable) throws {
        self.init(method, route, [:], body: try JSONText.bytes(of: body))
    }

    /// Creates the request for an operation.
    init(_ endpoint: Endpoint, _ input: some Encodable) throws {
        let (method, route) = (HTTPMethod(rawValue: endpoint.method.rawValue), endpoint.route)
        let bytes = try JSONText.bytes(of: input)
        guard route.hasID || !endpoint.hasBody else {
            self.init(method, path: route.path, body: bytes)
            return
        }
        var members = try JSONObject(JSONParser.parse(bytes, numbers: .all), name: "")
        var path = route.path
        if route.hasID, let id = TitleID(try members.string(OperationInput.id)) {
            path = route.path(of: id)
            members[OperationInput.id] = nil
        }
        guard !endpoint.hasBody else {
            self.init(method, path: path, body: JSONValue.object(members.members).canonical)
            return
        }
        let query = members.members.sorted { $0.key < $1.key }.compactMap { name, value in
            value.queryText.map { (name, $0) }
        }
        self.init(method, path: path, query, body: [])
    }

    /// Creates a request about one resource. The query names the resource, or the body if the reference has request
    /// fields.
    init(_ route: APIRoute, reference: MediaReference, fields: HTTPHeaders = [:]) throws {
        let document = ReferenceDocument(reference)
        if document.fields == nil {
            self.init(
                .GET, route, ["id": document.id?.description, "url": document.url, "contentID": document.contentID],
                fields: fields)
        } else {
            self.init(.POST, route, [:], body: try JSONText.bytes(of: document), fields: fields)
        }
    }

    /// Creates a request whose body has a given length and is sent piece by piece.
    init(_ method: HTTPMethod, _ route: APIRoute, bytes: Int64) {
        var fields: HTTPHeaders = ["Host": "localhost", "Content-Length": String(bytes)]
        fields.add(name: "Content-Type", value: "application/octet-stream")
        fields.add(name: "User-Agent", value: "MediaVault/\(Vault.version)")
        head = HTTPRequestHead(version: .http1_1, method: method, uri: route.path, headers: fields)
        body = []
    }

    /// Creates a request about a resource whose id is in the path.
    init(_ method: HTTPMethod, _ route: APIRoute, of id: TitleID, body: [UInt8] = []) {
        self.init(method, path: route.path(of: id), body: body)
    }

    /// - Parameters:
    ///   - parameters: the query parameters. Those with the value nil are omitted.
    ///   - fields: header fields in addition to the usual ones.
    init(
        _ method: HTTPMethod, _ route: APIRoute, _ parameters: KeyValuePairs<String, String?> = [:],
        body: [UInt8] = [], fields: HTTPHeaders = [:]
    ) {
        let query = parameters.compactMap { name, value in value.map { (name, $0) } }
        self.init(method, path: route.path, query, body: body, fields: fields)
    }

    private init(
        _ method: HTTPMethod, path: String, _ query: [(name: String, value: String)] = [], body: [UInt8],
        fields: HTTPHeaders = [:]
    ) {
        var target = URLComponents()
        target.path = path
        let items = query.map { URLQueryItem(name: $0.name, value: $0.value) }
        if !items.isEmpty { target.queryItems = items }
        var fields = fields
        fields.add(name: "Host", value: "localhost")
        fields.add(name: "Content-Length", value: String(body.count))
        if !body.isEmpty { fields.add(name: "Content-Type", value: "application/json") }
        fields.add(name: "User-Agent", value: "MediaVault/\(Vault.version)")
        head = HTTPRequestHead(version: .http1_1, method: method, uri: target.string ?? path, headers: fields)
        self.body = body
    }
}

extension JSONValue {
    /// The text of a value in a query; nil for null, which a query omits, and for arrays and objects, which no query
    /// has.
    fileprivate var queryText: String? {
        switch self {
        case .string(let text): text
        case .integer(let number): String(number)
        case .bool(let isTrue): String(isTrue)
        case .null, .fraction, .array, .object: nil
        }
    }
}

/// An answer from the control socket, consisting of a head, and a body that is read as it arrives.
struct ControlAnswer {
    typealias Parts = NIOAsyncChannelInboundStream<HTTPClientResponsePart>.AsyncIterator

    let head: HTTPResponseHead
    private var parts: Parts
    private var received = ByteBuffer()
    private var isAtEnd = false

    /// The maximum length of a line or document, in bytes.
    private static let maxBytes = 16 << 20

    /// Creates an answer by waiting for its head.
    ///
    /// - Throws: ``ServiceGone`` if no head arrives.
    init(_ parts: Parts) async throws {
        self.parts = parts
        do {
            guard case .head(let head) = try await self.parts.next(isolation: #isolation) else { throw ServiceGone() }
            self.head = head
        } catch is IOError, is HTTPParserError, is ChannelError {
            throw ServiceGone()
        }
    }

    /// Returns the next bytes of the body; nil at its end.
    ///
    /// - Throws: ``VaultError`` with code `closed` if the service ended before the end of the body.
    mutating func next() async throws -> ByteBuffer? {
        guard !isAtEnd else { return nil }
        do {
            switch try await parts.next(isolation: #isolation) {
            case .body(let bytes): return bytes
            case .end:
                isAtEnd = true
                return nil
            case .head, nil: throw Self.brokenOff
            }
        } catch is IOError, is HTTPParserError, is ChannelError {
            throw Self.brokenOff
        }
    }

    /// Returns the next line of the body, without its terminator; nil after the last line.
    mutating func line() async throws -> [UInt8]? {
        while true {
            if let length = received.readableBytesView.firstIndex(of: UInt8(ascii: "\n")).map({
                $0 - received.readerIndex
            }) {
                defer { received.moveReaderIndex(forwardBy: 1) }
                return received.readBytes(length: length)
            }
            guard received.readableBytes < Self.maxBytes else { throw Self.answerTooLong }
            guard var more = try await next() else { return nil }
            received.discardReadBytes()
            received.writeBuffer(&more)
        }
    }

    /// Returns the whole body.
    mutating func whole() async throws -> [UInt8] {
        while var more = try await next() {
            received.writeBuffer(&more)
            guard received.readableBytes < Self.maxBytes else { throw Self.answerTooLong }
        }
        return Array(received.readableBytesView)
    }

    static let brokenOff = VaultError(
        .closed, "the service ended early; received data is kept; try again to continue")
    private static let answerTooLong = VaultError(.closed, "the service's answer is longer than this program accepts")
}

/// A path to a vault's control socket that is short enough for a socket address.
///
/// On Linux, if the folder's path is too long, the folder is opened, and its descriptor takes the place of its path.
/// The path is valid while this object exists.
final class ControlAddress: Sendable {
    /// The path to bind or connect to.
    let path: String
    private let folder: Int32?

    /// Finds a path for the socket in a folder; returns nil if no path is short enough, or the folder cannot be opened.
    init?(folder: String) {
        let path = folder + "/control.sock"
        guard path.utf8.count > Self.maxBytes else {
            self.path = path
            self.folder = nil
            return
        }
        #if os(Linux)
        let descriptor = unsafe open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        self.path = "/proc/self/fd/\(descriptor)/control.sock"
        self.folder = descriptor
        #else
        return nil
        #endif
    }

    deinit { if let folder { close(folder) } }

    /// The size of `sun_path` in bytes, without its terminating zero.
    private static let maxBytes = MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1
}

/// The error thrown if no service listens on the control socket, or if the service ended before it answered.
package struct ServiceGone: Error, Hashable, Sendable {}
