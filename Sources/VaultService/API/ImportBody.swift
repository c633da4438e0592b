import Hummingbird
import MediaVault
import NIOCore
import NIOHTTP1
import VaultModel

/// The body of `POST /api/v1/imports`: a line of JSON, followed by a file's bytes, which are read as they arrive.
final class ImportBody: ImportSource {
    let order: ImportOrder
    private var parts: RequestBody.AsyncIterator
    /// The file's bytes that arrived together with the line.
    private var early: ByteBuffer
    private var received: Int64 = 0

    var length: Int64 { order.details.length }
    var type: String? { order.details.fileType }

    /// Creates the body by reading its line of JSON.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` if the body does not begin with a valid line.
    init(_ body: RequestBody) async throws {
        var parts = body.makeAsyncIterator()
        var head = ByteBuffer()
        var end = head.readableBytesView.endIndex
        repeat {
            guard head.readableBytes < APIRequest.maxBytes, var more = try await parts.next() else { throw Self.noLine }
            head.writeBuffer(&more)
            end = head.readableBytesView.firstIndex(of: UInt8(ascii: "\n")) ?? head.readableBytesView.endIndex
        } while end == head.readableBytesView.endIndex
        let line = head.readBytes(length: end - head.readerIndex) ?? []
        head.moveReaderIndex(forwardBy: 1)
        guard let order = try? StrictDecoder.decode(ImportOrder.self, from: line) else { throw Self.noLine }
        (self.order, self.parts, early) = (order, parts, head)
    }

    /// Returns the file's next bytes; nil at the end.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` if the body does not have as many bytes as its line states.
    func next() async throws -> [UInt8]? {
        let bytes: [UInt8]
        if early.readableBytes > 0 {
            bytes = early.readBytes(length: early.readableBytes) ?? []
        } else {
            do {
                guard let more = try await parts.next(isolation: #isolation) else {
                    guard received == length else { throw Self.incomplete }
                    return nil
                }
                bytes = Array(more.readableBytesView)
            } catch is HTTPParserError {
                throw Self.incomplete
            }
        }
        received += Int64(bytes.count)
        guard received <= length else { throw Self.incomplete }
        return bytes
    }

    private static let noLine = VaultError(
        .invalidArgument,
        "the body does not begin with a line of the JSON that this request expects; see the API description")
    private static let incomplete = VaultError(
        .invalidArgument, "the body does not have as many bytes as it states; send all of the file")
}
