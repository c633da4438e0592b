import Testing

@testable import VaultService

@Suite("Request id")
struct RequestIDTests {
    @Test("Each request has a unique id that fits into a header field and a log line")
    func names() {
        let names = (0..<1000).map { _ in RequestID().description }
        #expect(Set(names).count == 1000)
        #expect(names.allSatisfy { $0.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F } && $0.utf8.count < 40 })
    }
}
