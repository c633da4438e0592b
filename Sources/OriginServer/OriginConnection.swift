import Foundation
import VaultModel

/// One client's connection: reads requests and sends their answers, on its own thread.
struct OriginConnection {
    /// How an answer ended.
    private enum Ending { case complete, closed, gone }

    let socket: Socket
    let number: Int
    let log: ExchangeLog

    /// The number of bytes given to the socket at once.
    private static let pieceSize: Int64 = 16 * 1024

    func serve() {
        defer { log.close(connection: number) }
        while let head = readHead(), let (exchange, answer) = log.record(head: head, connection: number) {
            let ending = carryOut(answer, exchange)
            log.update(exchange) { $0.phase = ending == .gone ? .abandoned : .done }
            guard ending == .complete, !answer.closes else { return }
        }
    }

    private func readHead() -> String? {
        var bytes: [UInt8] = []
        while !bytes.suffix(4).elementsEqual("\r\n\r\n".utf8) {
            let more = socket.receive()
            guard !more.isEmpty else { return nil }
            bytes += more
        }
        return String(decoding: bytes.dropLast(2), as: UTF8.self)
    }

    private func carryOut(_ answer: ScriptedAnswer, _ exchange: Int) -> Ending {
        for step in answer.before {
            let ending = perform(step, of: answer, isChunked: false, exchange)
            guard ending == .complete else { return ending }
        }
        guard send(Array(answer.head.utf8), exchange, answer.sendTimeout) else { return .gone }
        for step in answer.body {
            let ending = perform(step, of: answer, isChunked: answer.isChunked, exchange)
            guard ending == .complete else { return ending }
        }
        guard !answer.isChunked || send(Array("0\r\n\r\n".utf8), exchange, answer.sendTimeout) else { return .gone }
        return .complete
    }

    private func perform(
        _ step: ScriptedStep, of answer: ScriptedAnswer, isChunked: Bool, _ exchange: Int
    ) -> Ending {
        let limit = answer.sendTimeout
        switch step {
        case .bytes(let bytes): return sendBody(bytes, isChunked: isChunked, exchange, limit) ? .complete : .gone
        case .media(let media, let range):
            var offset = range.lowerBound
            while offset < range.upperBound {
                let end = min(offset + Self.pieceSize, range.upperBound)
                guard sendBody(media.bytes(offset..<end), isChunked: isChunked, exchange, limit) else { return .gone }
                offset = end
            }
            return .complete
        case .hold(let gate):
            log.update(exchange) { $0.phase = .held }
            guard socket.wait(for: gate) else { return .gone }
            log.update(exchange) { $0.phase = .answering }
            return .complete
        case .pause(let duration):
            Thread.sleep(forTimeInterval: duration / .seconds(1))
            return .complete
        case .close: return .closed
        case .reset:
            socket.resetOnClose()
            return .closed
        }
    }

    private func sendBody(_ bytes: [UInt8], isChunked: Bool, _ exchange: Int, _ limit: Duration?) -> Bool {
        guard isChunked else { return send(bytes, exchange, limit, countsAsBody: true) }
        return bytes.isEmpty
            || send(Array("\(String(bytes.count, radix: 16))\r\n".utf8), exchange, limit)
                && send(bytes, exchange, limit, countsAsBody: true) && send(Array("\r\n".utf8), exchange, limit)
    }

    /// - Returns: false if the client has gone.
    private func send(_ bytes: [UInt8], _ exchange: Int, _ limit: Duration?, countsAsBody: Bool = false) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            // Sends and counts under one lock, so that a client that has the bytes finds them counted.
            let sent = log.update(exchange) { [rest] exchange in
                guard let sent = socket.sendSome(rest) else { return Int?.none }
                if countsAsBody { exchange.bodyBytesSent += Int64(sent) }
                exchange.phase = sent == 0 ? .blocked : .answering
                return sent
            }
            guard let sent else { return false }
            rest = rest.dropFirst(sent)
            if sent == 0, !socket.waitForRoom(atMost: limit) { return false }
        }
        return true
    }
}
