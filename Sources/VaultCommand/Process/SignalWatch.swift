import Dispatch

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Hands signals to a closure in place of their default, until it is ended.
final class SignalWatch {
    private let numbers: [Int32]
    private let sources: [any DispatchSourceSignal]

    init(_ numbers: [Int32], _ act: @escaping @Sendable (Int32) -> Void) {
        self.numbers = numbers
        let queue = DispatchQueue(label: "mediavault.signals")
        sources = numbers.map { number in
            // The default would end the process before the source sees the signal.
            _ = signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler { act(number) }
            source.resume()
            return source
        }
    }

    /// Gives the signals back to their defaults.
    func end() {
        for source in sources { source.cancel() }
        for number in numbers { _ = signal(number, SIG_DFL) }
    }
}
