import VaultModel

/// Derives one PIN at a time: each takes much memory and a thread, and anyone who reaches the service can request it.
///
/// Client addresses take turns, so that an address with many requests delays each of the others by only one PIN.
/// Viewers on devices on which they have signed in before take turns, too, and their turns alternate with those of
/// addresses.
final class SignInQueue: Sendable {
    private struct State {
        var isTaken = false
        var turns = RoundRobin<CheckedContinuation<Bool, Never>>()
    }

    private let state = Locked(State())

    /// The number of waiting callers, not counting the one whose turn it is.
    var waitingCount: Int { state.withLock { $0.turns.count } }

    /// Runs `body` when it is the caller's turn.
    ///
    /// - Parameter line: the line in which the caller waits; nil for the owner, who goes before all others.
    /// - Throws: ``VaultError`` with code `busy` if too many wait.
    func run<Result: Sendable>(
        from line: SignInLine?, _ body: @Sendable () async throws -> Result
    ) async throws -> Result {
        guard await enter(from: line) else {
            throw VaultError(.busy, "too many people are signing in at the moment; try again in a few seconds")
        }
        defer { leave() }
        return try await body()
    }

    /// Waits for a turn; returns false if too many wait.
    private func enter(from line: SignInLine?) async -> Bool {
        await withCheckedContinuation { waiter in
            let (isAdmitted, refused): (Bool, CheckedContinuation<Bool, Never>?) = state.withLock { state in
                guard state.isTaken else {
                    state.isTaken = true
                    return (true, nil)
                }
                return (false, state.turns.add(waiter, from: line))
            }
            if isAdmitted { waiter.resume(returning: true) }
            refused?.resume(returning: false)
        }
    }

    private func leave() {
        let next = state.withLock { state in
            let next = state.turns.next()
            state.isTaken = next != nil
            return next
        }
        next?.resume(returning: true)
    }
}

/// A line of callers who share one turn.
enum SignInLine: Hashable, Sendable {
    /// All devices on which a viewer has signed in before, because a viewer can have any number of them.
    case viewer(ViewerID)
    /// A network address: 4 bytes for IPv4, 8 for the network of an IPv6 address, none for this machine.
    case address([UInt8])
}

/// Waiting callers, in several lines that take turns.
struct RoundRobin<Waiter> {
    private var waiting: [SignInLine?: [Waiter]] = [:]
    /// The lines with waiting callers, the least recently served first.
    private var order: [SignInLine?] = []
    /// Whether the last turn was a viewer's; the next one is then an address's.
    private var wasViewer = false

    /// The maximum number of callers who wait in one line, and in all.
    static var maxOfLine: Int { 8 }
    static var maxCount: Int { 64 }

    /// The number of waiting callers.
    var count: Int { waiting.values.reduce(0) { $0 + $1.count } }

    /// Adds a caller to a line; nil is the owner's line.
    ///
    /// - Returns: the caller who is refused in exchange; nil if there is space. If too many wait in all, that is the
    ///   last caller of the longest line, so that a few lines do not shut out the others. If no line is longer, a
    ///   caller of an address makes way for the first caller of a viewer.
    mutating func add(_ waiter: Waiter, from line: SignInLine?) -> Waiter? {
        let own = waiting[line]?.count ?? 0
        guard own < Self.maxOfLine else { return waiter }
        var refused: Waiter?
        // The owner can always set a PIN.
        if line != nil, count >= Self.maxCount {
            guard let longest = displaced(for: line, own) else { return waiter }
            refused = waiting[longest]?.popLast()
            if waiting[longest]?.isEmpty ?? true { drop(longest) }
        }
        if own == 0 { order.append(line) }
        waiting[line, default: []].append(waiter)
        return refused
    }

    /// Removes and returns the next caller: the first one in the line whose turn it is; nil if nobody waits.
    mutating func next() -> Waiter? {
        guard let index = nextIndex, let waiter = waiting[order[index]]?.first else { return nil }
        let line = order.remove(at: index)
        waiting[line]?.removeFirst()
        if waiting[line]?.isEmpty ?? true { waiting[line] = nil } else { order.append(line) }
        if line != nil { wasViewer = Self.isViewer(line) }
        return waiter
    }

    /// The owner goes first; the others alternate.
    private var nextIndex: Int? {
        order.firstIndex { $0 == nil } ?? order.firstIndex { Self.isViewer($0) != wasViewer } ?? order.indices.first
    }

    /// Returns the line whose last caller makes way for a caller of another line; nil if there is none.
    private func displaced(for line: SignInLine?, _ own: Int) -> SignInLine? {
        let others = waiting.filter { $0.key != nil }
        if let longest = others.max(by: { $0.value.count < $1.value.count }), longest.value.count > own + 1 {
            return longest.key
        }
        // Many addresses with one caller each must not keep a viewer from signing in on a known device.
        guard Self.isViewer(line), own == 0 else { return nil }
        return others.keys.first { !Self.isViewer($0) } ?? nil
    }

    private static func isViewer(_ line: SignInLine?) -> Bool { if case .viewer = line { true } else { false } }

    private mutating func drop(_ line: SignInLine) {
        order.removeAll { $0 == line }
        waiting[line] = nil
    }
}

/// The wrong tries with names that no viewer has, which are slowed like those of a viewer.
///
/// They are kept only in memory, and the oldest are dropped if there are too many: they only keep answers from
/// revealing which names exist.
struct UnknownNames {
    private var tries: [String: SignInTries] = [:]
    private var order: [String] = []

    /// The maximum number of names to remember.
    static let maxCount = 1024

    /// Returns the wrong tries with a name.
    subscript(name: String) -> SignInTries { tries[name] ?? SignInTries() }

    /// Ends waits that were left by a clock that was ahead.
    mutating func heal(_ name: String, at now: Int64) { _ = tries[name]?.heal(at: now) }

    /// Counts a wrong try from an address.
    mutating func noteWrong(_ name: String, from place: SignInPlace, at now: Int64) {
        if tries[name] == nil {
            order.append(name)
            if order.count > Self.maxCount { tries[order.removeFirst()] = nil }
        }
        tries[name, default: SignInTries()].noteWrong(from: place, at: now)
    }
}
