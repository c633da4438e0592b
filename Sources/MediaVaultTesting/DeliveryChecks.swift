import OriginServer
import VaultModel

/// The checks of how a transport delivers bodies: when, in what pieces, and how many at a time.
enum DeliveryChecks {
    private static let mebibyte = 1 << 20

    /// An answer of so many mebibytes, which costs no memory.
    private static func large(_ count: Int) -> ScriptedAnswer {
        let piece = [UInt8](repeating: 7, count: mebibyte)
        return ScriptedAnswer(
            200, fields: ["Content-Length": "\(count * mebibyte)"],
            body: Array(repeating: .bytes(piece), count: count))
    }

    static func progress(_ trial: Trial) async throws {
        let resource = ScriptedResource(length: 200_000)
        let gates = [Gate(), Gate()]
        let server = try ScriptedOrigin { request in
            var answer = resource.answer(to: request)
            answer.insert(.hold(gates[1]), at: 100_000)
            answer.insert(.hold(gates[0]), at: 0)
            return answer
        }
        // What is not delivered until the gate opens never comes.
        let origin = await trial.origin()
        let request = OriginRequest(url: server.url())
        let sent = await TimeLimit.run(trial.limit) { await Result { try await origin.send(request) } }
        guard let response = try sent?.get() else {
            trial.expect(false, "the head before the body", happened: "it had not come after \(trial.limit)")
            return
        }
        gates[0].open()
        let begun = await TimeLimit.run(trial.limit) { [head = response.head] in
            var reception = Reception(head: head)
            await reception.read(response, upTo: 100_000)
            return reception
        }
        guard var reception = begun else {
            trial.expect(false, "the bytes that have come", happened: "they were not there after \(trial.limit)")
            return
        }
        gates[1].open()
        await reception.read(response)
        trial.expect(reception, brings: 200, resource.media.bytes(0..<200_000), "a body that comes in two parts")
    }

    static func pieces(_ trial: Trial) async throws {
        let server = try ScriptedOrigin { _ in large(4) }
        let reception = await trial.receive(OriginRequest(url: server.url()), from: trial.origin())
        trial.expect(reception.bytes.count, is: 4 * mebibyte, "the bytes of a large body")
        let wrong = Set(reception.pieces.filter { !(1...mebibyte).contains($0) }).sorted()
        trial.expect(wrong.isEmpty, "pieces of 1 byte to 1 MiB", happened: "there were pieces of \(wrong) bytes")
    }

    static func backPressure(_ trial: Trial) async throws {
        let server = try ScriptedOrigin { _ in large(64) }
        let origin = await trial.origin()
        let unread = try await origin.send(OriginRequest(url: server.url("/unread")))
        await trial.expect(server, "the body to be sent until the buffers are full") {
            $0.first.map { [.blocked, .done].contains($0.phase) } ?? false
        }
        // As long as this one takes, the other could go on.
        let other = try ScriptedOrigin { _ in large(48) }
        let read = try await origin.send(OriginRequest(url: other.url("/read")))
        while try await read.nextBytes() != nil {}
        let sent = server.exchanges.first?.bodyBytesSent ?? 0
        trial.expect(
            sent <= 16 * mebibyte, "at most 16 MiB of a body that nobody reads",
            happened: "\(sent) bytes were received")
        unread.cancel()
    }

    static func sideBySide(_ trial: Trial) async throws {
        let gate = Gate()
        let server = try ScriptedOrigin { request in
            let number = UInt64(request.target.dropFirst()) ?? 0
            var answer = ScriptedResource(seed: number, length: 100_000).answer(to: request)
            if number == 0 { answer.insert(.hold(gate), at: 1000) }
            return answer
        }
        let origin = await trial.origin()
        let held = try await origin.send(OriginRequest(url: server.url("/0")))
        let areAllDone: Void? = await TimeLimit.run(trial.limit) {
            await withTaskGroup(of: Void.self) { group in
                for number in 1...32 {
                    group.addTask {
                        let reception = await trial.receive(OriginRequest(url: server.url("/\(number)")), from: origin)
                        let bytes = PseudoRandomMedia(seed: UInt64(number), length: 100_000).bytes(0..<100_000)
                        trial.expect(reception, brings: 200, bytes, "one of 32 requests at the same time")
                    }
                }
            }
        }
        trial.expect(
            areAllDone != nil, "32 requests to end while another body waits",
            happened: "they had not after \(trial.limit)")
        held.cancel()
    }
}

extension Result where Failure == any Error, Success: Sendable {
    /// Keeps what the work returns or throws.
    fileprivate init(_ work: () async throws -> Success) async {
        do { self = .success(try await work()) } catch { self = .failure(error) }
    }
}
