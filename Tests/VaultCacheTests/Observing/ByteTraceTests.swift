import Testing
import VaultModel

@testable import VaultCache

@Suite("Where bytes came from")
struct ByteTraceTests {
    private func trace(_ pieces: [(ByteRange, ByteTrace.Source)]) -> ByteTrace {
        pieces.reduce(into: ByteTrace()) { $0.note($1.0, $1.1) }
    }

    @Test("Adjacent bytes from one source form a run; a jump or another source begins the next")
    func runs() {
        let trace = trace([
            (0..<10, .origin), (10..<30, .origin), (30..<40, .vault), (40..<40, .origin), (50..<60, .vault),
        ])
        #expect(
            trace.runs == [
                .init(range: 0..<30, source: .origin), .init(range: 30..<40, source: .vault),
                .init(range: 50..<60, source: .vault),
            ])
        #expect(trace.bytes == 50 && trace.bytes(from: .vault) == 20 && trace.omitted == 0)
    }

    @Test("Beyond the maximum number of runs only the bytes are counted")
    func bound() {
        var trace = ByteTrace()
        for offset: Int64 in 0..<100 { trace.note(offset..<offset + 1, offset % 2 == 0 ? .vault : .origin) }
        #expect(trace.runs.count == ByteTrace.maxRuns && trace.bytes == 100)
        #expect(trace.omitted == Int64(100 - ByteTrace.maxRuns))
    }

    @Test("The last answers of recent resources are kept, and empty answers are not")
    func log() throws {
        let log = AnswerLog()
        let ids = try (0...AnswerLog.maxResources).map { index in
            let bytes = [UInt8(index >> 8), UInt8(index & 0xFF)] + [UInt8](repeating: 0, count: 30)
            return try #require(ResourceID(bytes: bytes))
        }
        log.note([ByteTrace()], of: ids[0], at: 1)
        #expect(log.answers(of: ids[0]).isEmpty)
        for index in 0..<20 { log.note([trace([(0..<Int64(index + 1), .vault)])], of: ids[0], at: Int64(index)) }
        let kept = log.answers(of: ids[0])
        #expect(kept.count == AnswerLog.maxAnswers && kept.first?.trace.bytes == 20 && kept.last?.ended == 4)
        for (index, id) in ids.enumerated().dropFirst() {
            log.note([trace([(0..<1, .origin)])], of: id, at: 100 + Int64(index))
        }
        #expect(log.answers(of: ids[0]).isEmpty && log.answers(of: ids[1]).count == 1)
        log.forget(ids[1])
        #expect(log.answers(of: ids[1]).isEmpty)
    }
}
