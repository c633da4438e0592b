// Where the bytes of answers came from.
extension LoaderState {
    /// How many that ended are kept until somebody takes them.
    private static let mostTraces = 16

    /// A reader has ended. What a download passes over is no answer.
    mutating func keepTrace(of reader: ReaderState) {
        guard !reader.isFilling, reader.trace.bytes > 0 else { return }
        if traces.count >= Self.mostTraces { traces.removeFirst() }
        traces.append(reader.trace)
    }

    /// Hands over the traces of readers that have ended.
    mutating func takeTraces() -> [ByteTrace] {
        defer { traces = [] }
        return traces
    }

    /// The traces of readers that go on.
    var runningTraces: [ByteTrace] { readers.values.filter { !$0.isFilling && $0.trace.bytes > 0 }.map(\.trace) }

    /// A reader fills the vault and answers nobody.
    mutating func beginFilling(_ id: ReaderState.ID) -> Effects {
        readers[id]?.isFilling = true
        return Effects()
    }
}
