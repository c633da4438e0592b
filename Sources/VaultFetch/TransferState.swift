import VaultModel

/// The state of one transfer: the bytes received, whether the transfer is paused, how it ended, and its waiters.
///
/// The state makes decisions and has no effects. It returns waiters so that the caller can resume each exactly once,
/// after releasing the lock. A waiter learns only that something has changed, and then asks again. `Waiter` is a
/// continuation, or in tests a number.
struct TransferState<Waiter> {
    /// The outcome for received bytes.
    enum Reception: Hashable {
        /// The bytes are in the buffer.
        case taken
        /// The buffer is full, so libcurl keeps the bytes and the transfer pauses.
        case paused
        /// The transfer has ended, so the bytes are not needed.
        case unwanted
    }

    /// The answer to a reader that asks for a value.
    enum Step<Value> {
        /// The value has arrived. `resumes` is whether the transfer was paused and now has space again.
        case ready(Value, resumes: Bool)
        /// The value will never arrive.
        case failed(any Error)
        /// The value has not arrived yet; wait with ``park(_:)``.
        case wait
    }

    private enum End {
        case proper
        case failed(OriginFailure)
        case cancelled
    }

    /// The maximum number of bytes in the buffer. The transfer pauses when a piece would exceed it.
    let limit: Int
    /// Whether libcurl was told to pause and has not been told to resume.
    private(set) var isPaused = false
    private var head: OriginHead?
    private var buffer = BodyBuffer()
    private var end: End?
    private var waiters: [Waiter] = []

    init(limit: Int) {
        self.limit = limit
    }

    /// The number of received bytes that the reader has not taken.
    var bufferedBytes: Int { buffer.count }

    /// Whether the reader has cancelled the transfer.
    var isCancelled: Bool {
        if case .cancelled = end { true } else { false }
    }

    // MARK: For the loop

    /// Stores the final head.
    mutating func receive(head: OriginHead) {
        guard end == nil else { return }
        self.head = head
    }

    /// Buffers a piece of the body. An empty buffer accepts even a piece larger than the limit.
    mutating func receive(_ bytes: Span<UInt8>) -> Reception {
        guard end == nil else { return .unwanted }
        guard buffer.count == 0 || buffer.count + bytes.count <= limit else {
            isPaused = true
            return .paused
        }
        buffer.append(bytes)
        return .taken
    }

    /// Ends the transfer, successfully if `failure` is nil. If it has already ended, nothing changes.
    mutating func finish(_ failure: OriginFailure?) {
        guard end == nil else { return }
        end = failure.map { .failed($0) } ?? .proper
    }

    /// Removes and returns the waiters to resume, if anything has changed for them.
    mutating func takeWaiters() -> [Waiter] {
        guard hasNews else { return [] }
        defer { waiters = [] }
        return waiters
    }

    // MARK: For the reader

    /// Takes the head, which is returned once, before any bytes.
    mutating func takeHead() -> Step<OriginHead> {
        if case .cancelled = end { return .failed(CancellationError()) }
        if let head {
            self.head = nil
            return .ready(head, resumes: false)
        }
        switch end {
        case nil: return .wait
        case .failed(let failure): return .failed(failure)
        case .proper, .cancelled: return .failed(OriginFailure(.invalidResponse, "the response has no head"))
        }
    }

    /// Takes the next bytes; nil at the body's end. Bytes received before a failure are returned before the failure.
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

    /// Keeps a waiter until something changes for it, or returns it if something already has.
    mutating func park(_ waiter: Waiter) -> Waiter? {
        guard !hasNews else { return waiter }
        waiters.append(waiter)
        return nil
    }

    /// Takes the received bytes that the reader had not taken when it cancelled the transfer.
    mutating func takeUnread() -> [[UInt8]] { buffer.removeAll() }

    /// Cancels the transfer; buffered bytes are kept only for ``takeUnread()``.
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

/// The bytes of a body that the reader has not taken, in blocks as large as a reader takes at once.
///
/// Each byte is copied into its block, and the block is then handed to the reader.
struct BodyBuffer {
    /// The maximum number of bytes in one block.
    static let blockSize = 64 * 1024

    /// The number of buffered bytes.
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

    /// Removes and returns the oldest block, of 1 to ``blockSize`` bytes; nil if the buffer is empty.
    mutating func popFirst() -> [UInt8]? {
        guard !blocks.isEmpty else { return nil }
        let block = blocks.removeFirst()
        count -= block.count
        return Self.shrunk(block)
    }

    /// Removes and returns all blocks.
    mutating func removeAll() -> [[UInt8]] {
        defer { (blocks, count) = ([], 0) }
        return blocks.map(Self.shrunk)
    }

    /// Returns a block, copied into memory of its own size unless it is nearly full, because it may be kept for long.
    private static func shrunk(_ block: [UInt8]) -> [UInt8] {
        guard block.count < blockSize - blockSize / 8 else { return block }
        return unsafe block.withUnsafeBufferPointer { unsafe Array($0) }
    }
}
