package import MediaVault
import NIOCore
import NIOHTTP1

extension ServedVault {
    package func read(
        _ reference: MediaReference, _ range: RequestedRange, to take: (ArraySlice<UInt8>) async throws -> Void
    ) async throws {
        var reading = ServedReading(range)
        while !reading.isDone {
            let question = try ControlQuestion(.content, reference: reference, fields: reading.fields)
            try await ask(question) { answer in
                try reading.begin(answer.head)
                do {
                    while let bytes = try await answer.next() {
                        try await take(reading.cut(Array(bytes.readableBytesView)))
                    }
                    try reading.finish()
                } catch let brokenOff as VaultError where brokenOff.code == .closed && reading.hasAdvanced {
                    // What is left is asked for anew: the answer to that says why, or goes on.
                }
            }
        }
    }
}
