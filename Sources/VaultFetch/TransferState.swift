import VaultModel

/// The state of one transfer: the bytes received, whether it is paused, how it ended, and its waiters.
///
/// It makes decisions and has no effects: waiters are returned so that the caller resumes each exactly once, after it
/// has released the lock. A waiter learns only that there is news, and asks again. `Waiter` is a continuation; in
/// tests, a number.
struct TransferState<Waiter> {
    /// What happened to received bytes.
    enum Reception: Hashable {
        /// They are in the buffer.
        case taken
        /// The buffer is full: libcurl keeps them, and the transfer pauses.
        case paused
        /// The transfer has ended: they are not needed.
        case unwanted
    }

    /// The result of a reader's request.
    enum Step<Value> {
        /// The value. `resumes` is whether the transfer was paused and now has space again.
        case ready(Value, resumes: Bool)
        /// The value will not come.
        case failed(any Error)
        /// The value has not come yet: wait with ``park(_:)``.
        case wait
    }

    private enum End {
        case proper
        case failed(OriginFailure)
        case cancelled
    }

    /// Maximum bytes in the buffer; a piece that would exceed it pauses the transfer.
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

    /// The received bytes that the reader has not taken.
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

    /// Buffers bytes of the body. A piece larger than the limit is accepted into an empty buffer.
    mutating func receive(_ bytes: Span<UInt8>) -> Reception {
        guard end == nil else { return .unwanted }
        guard buffer.count == 0 || buffer.count + bytes.count <= limit else {
            isPaused = true
            return .paused
        }
        buffer.append(bytes)
        return .taken
    }

    /// Ends the transfer, properly or by a failure. Only the first end counts.
    mutating func finish(_ failure: OriginFailure?) {
        guard end == nil else { return }
        end = failure.map { .failed($0) } ?? .proper
    }

    /// Removes and returns the waiters to resume, if there is news for them.
    mutating func takeWaiters() -> [Waiter] {
        guard hasNews else { return [] }
        defer { waiters = [] }
        return waiters
    }

    // MARK: For the reader

    /// Takes the head, which is returned once, before any byte.
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

    /// Takes the next bytes; nil at the end. Bytes received before a failure are returned before the failure.
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

    /// Adds a waiter until there is news, or returns it if there is news already.
    mutating func park(_ waiter: Waiter) -> Waiter? {
        guard !hasNews else { return waiter }
        waiters.append(waiter)
        return nil
    }

    /// Takes the received bytes that the reader had not taken when it cancelled the transfer.
    mutating func takeUnread() -> [[UInt8]] { buffer.removeAll() }

    /// Cancels the transfer; buffered bytes stay only for ``takeUnread()``.
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
/// Each byte is copied into its block, and the block is handed on.
struct BodyBuffer {
    /// Maximum bytes in one block.
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

    /// Returns a block in memory of its own size if it is not nearly full, because it may be kept for long.
    private static func shrunk(_ block: [UInt8]) -> [UInt8] {
        guard block.count < blockSize - blockSize / 8 else { return block }
        return unsafe block.withUnsafeBufferPointer { unsafe Array($0) }
    }
}
