import VaultModel

/// What one transfer has received, whether it is paused, how it ended, and who waits for news of it.
///
/// It decides and does nothing: waiters are handed out to be resumed after the lock is released, each exactly once.
/// A waiter is told only that there is news, and asks again. `Waiter` is a continuation; in tests, a number.
struct TransferState<Waiter> {
    /// What becomes of received bytes.
    enum Reception: Hashable {
        /// They are in the buffer.
        case taken
        /// There is no room: libcurl keeps them and the transfer pauses.
        case paused
        /// Nobody wants them any more.
        case unwanted
    }

    /// What a reader is answered.
    enum Step<Value> {
        /// Here it is. `resumes` says that the transfer had paused and has room again.
        case ready(Value, resumes: Bool)
        /// It will not come.
        case failed(any Error)
        /// It has not come yet: ``park(_:)``.
        case wait
    }

    private enum End {
        case proper
        case failed(OriginFailure)
        case cancelled
    }

    /// The most bytes in the buffer; one more piece and the transfer pauses.
    let limit: Int
    /// Whether libcurl was told to pause and not yet to go on.
    private(set) var isPaused = false
    private var head: OriginHead?
    private var buffer = BodyBuffer()
    private var end: End?
    private var waiters: [Waiter] = []

    init(limit: Int) {
        self.limit = limit
    }

    /// The bytes received that nobody has asked for.
    var bufferedBytes: Int { buffer.count }

    /// Whether the reader has given the transfer up.
    var isCancelled: Bool {
        if case .cancelled = end { true } else { false }
    }

    // MARK: What the loop reports

    /// The final head has come.
    mutating func receive(head: OriginHead) {
        guard end == nil else { return }
        self.head = head
    }

    /// Bytes of the body have come. A piece larger than the limit is taken into an empty buffer.
    mutating func receive(_ bytes: Span<UInt8>) -> Reception {
        guard end == nil else { return .unwanted }
        guard buffer.count == 0 || buffer.count + bytes.count <= limit else {
            isPaused = true
            return .paused
        }
        buffer.append(bytes)
        return .taken
    }

    /// The transfer is over: properly, or by a failure. The first end counts.
    mutating func finish(_ failure: OriginFailure?) {
        guard end == nil else { return }
        end = failure.map { .failed($0) } ?? .proper
    }

    /// Those to resume, where there is news for them.
    mutating func takeWaiters() -> [Waiter] {
        guard hasNews else { return [] }
        defer { waiters = [] }
        return waiters
    }

    // MARK: What the reader asks

    /// The head. It is handed out once, before any byte.
    mutating func takeHead() -> Step<OriginHead> {
        if case .cancelled = end { return .failed(CancellationError()) }
        if let head {
            self.head = nil
            return .ready(head, resumes: false)
        }
        switch end {
        case nil: return .wait
        case .failed(let failure): return .failed(failure)
        case .proper, .cancelled: return .failed(OriginFailure(.invalidResponse, "the answer has no head"))
        }
    }

    /// The next bytes, nil at the end; what was received before a failure is handed out before it is told.
    mutating func takeBytes() -> Step<[UInt8]?> {
        if !isCancelled, let block = buffer.popFirst() {
            let resumes = isPaused && buffer.count <= limit / 2
            if resumes { isPaused = false }
            return .ready(block, resumes: resumes)
        }
        switch end {
        case nil: return .wait
        case .proper: return .ready(nil, resumes: false)
        case .failed(let failure): return .failed(failure)
        case .cancelled: return .failed(CancellationError())
        }
    }

    /// Takes a waiter in until there is news; gives it back where there already is.
    mutating func park(_ waiter: Waiter) -> Waiter? {
        guard !hasNews else { return waiter }
        waiters.append(waiter)
        return nil
    }

    /// What was received and not asked for, after the reader has given up.
    mutating func takeRest() -> [[UInt8]] { buffer.removeAll() }

    /// The reader gives up: what is buffered stays for ``takeRest()`` alone.
    ///
    /// - Returns: whether the loop still has to end the transfer.
    mutating func cancel() -> Bool {
        let isRunning = end == nil
        end = .cancelled
        head = nil
        return isRunning
    }

    private var hasNews: Bool { head != nil || buffer.count > 0 || end != nil }
}

/// Bytes of a body that nobody has asked for yet, in blocks as large as a reader takes at once: a byte is copied into
/// its block and handed on with it.
struct BodyBuffer {
    /// The most bytes of one block.
    static let blockSize = 64 * 1024

    /// The bytes that wait.
    private(set) var count = 0
    private var blocks: [[UInt8]] = []

    /// Adds bytes at the end.
    mutating func append(_ bytes: Span<UInt8>) {
        var start = 0
        while start < bytes.count {
            if blocks.last.map({ $0.count < Self.blockSize }) != true {
                var block: [UInt8] = []
                block.reserveCapacity(Self.blockSize)
                blocks.append(block)
            }
            let end = min(start + Self.blockSize - blocks[blocks.count - 1].count, bytes.count)
            unsafe bytes.extracting(start..<end).withUnsafeBufferPointer {
                unsafe blocks[blocks.count - 1].append(contentsOf: $0)
            }
            start = end
        }
        count += bytes.count
    }

    /// Takes the oldest block, from one byte to ``blockSize``; nil where none waits.
    mutating func popFirst() -> [UInt8]? {
        guard !blocks.isEmpty else { return nil }
        let block = blocks.removeFirst()
        count -= block.count
        return Self.fitted(block)
    }

    /// Takes everything.
    mutating func removeAll() -> [[UInt8]] {
        defer { (blocks, count) = ([], 0) }
        return blocks.map(Self.fitted)
    }

    /// A block that is not nearly full moves into memory of its own size: it may be kept for long.
    private static func fitted(_ block: [UInt8]) -> [UInt8] {
        guard block.count < blockSize - blockSize / 8 else { return block }
        return unsafe block.withUnsafeBufferPointer { unsafe Array($0) }
    }
}
