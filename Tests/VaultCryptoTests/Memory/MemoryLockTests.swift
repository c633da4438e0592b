import Testing

@testable import VaultCrypto

@Suite("Locked memory", .timeLimit(.minutes(5)))
struct MemoryLockTests {
    private let first = MemoryLockFailure(errno: 12, limit: 64 << 10)
    private let second = MemoryLockFailure(errno: 1, limit: 0)

    @Test("Each listener receives only the first refusal, once, whether it listens before or after it")
    func telling() async {
        let lock = MemoryLock()
        let early = lock.refusals()
        #expect(lock.refusal == nil)
        lock.note(first)
        lock.note(second)
        #expect(lock.refusal == first)
        var told: [[MemoryLockFailure]] = []
        for stream in [early, lock.refusals()] {
            var heard: [MemoryLockFailure] = []
            for await refusal in stream { heard.append(refusal) }
            told.append(heard)
        }
        #expect(told == [[first], [first]])
    }

    @Test("The message of a refusal names the limit and the remedy")
    func message() {
        #expect("\(first)".contains("64 KiB") && "\(first)".contains("LimitMEMLOCK="))
        #expect("\(MemoryLockFailure(errno: 11, limit: nil))".contains("error 11"))
    }
}
