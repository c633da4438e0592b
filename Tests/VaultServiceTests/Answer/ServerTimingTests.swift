import Testing

@testable import VaultService

@Suite("Server timing")
struct ServerTimingTests {
    @Test(
        "Times are printed in milliseconds, with three decimal places",
        arguments: [
            (Duration.zero, "0.000"), (.nanoseconds(999), "0.000"), (.microseconds(7), "0.007"),
            (.microseconds(42), "0.042"), (.microseconds(1234), "1.234"), (.seconds(61), "61000.000"),
            (.seconds(-1), "0.000"),
        ])
    func milliseconds(duration: Duration, text: String) {
        #expect(ServerTiming(open: duration, firstByte: nil).value == "open;dur=\(text)")
        #expect(ServerTiming(open: duration, firstByte: .zero).value == "open;dur=\(text), first-byte;dur=0.000")
    }
}
