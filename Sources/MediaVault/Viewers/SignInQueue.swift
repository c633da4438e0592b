import VaultModel

/// Lets one PIN derivation run at a time, because each one needs a thread and a lot of memory, and anyone who can reach
/// the service can request one.
///
/// Client addresses take turns, so an address with many requests delays every other address by only one derivation.
/// Viewers using a device they have signed in on before also take turns; viewers and addresses alternate.
final class SignInQueue: Sendable {
    private struct State {
        var isTaken = false
        var turns = RoundRobin<CheckedContinuation<Bool, Never>>()
    }

    private let state = Locked(State())

    /// The number of waiting callers, excluding the one whose turn it is.
    var waitingCount: Int { state.withLock { $0.turns.count } }

    /// Runs `body` once it is the caller's turn.
    ///
    /// - Parameter line: the line in which the caller waits; nil for the owner, who goes before everyone else.
    /// - Throws: ``VaultError`` with code `busy` if too many callers are waiting.
    func run<Result: Sendable>(
        from line: SignInLine?, _ body: @Sendable () async throws -> Result
    ) async throws -> Result {
        guard await enter(from: line) else {
            throw VaultError(.busy, "too many people are signing in at the moment; try again in a few seconds")
        }
        defer { leave() }
        return try await body()
    }

    /// Waits for a turn. Returns false if too many callers are waiting.
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

/// A line of callers, which competes with other lines for turns.
enum SignInLine: Hashable, Sendable {
    /// All devices on which a viewer has signed in before. They share a line, because a viewer can have any number of
    /// them.
    case viewer(ViewerID)
    /// A network address: 4 bytes for IPv4, the 8 bytes of the network for IPv6, or no bytes for this machine.
    case address([UInt8])
}

/// The callers who wait, in several lines that take turns.
struct RoundRobin<Waiter> {
    private var waiting: [SignInLine?: [Waiter]] = [:]
    /// The lines that have waiting callers, the least recently served first.
    private var order: [SignInLine?] = []
    /// Whether the last turn was a viewer's. If so, a waiting address is served before the next viewer.
    private var wasViewer = false

    /// The maximum number of callers who can wait in one line, and in all lines together.
    static var maxOfLine: Int { 8 }
    static var maxCount: Int { 64 }

    /// The number of waiting callers.
    var count: Int { waiting.values.reduce(0) { $0 + $1.count } }

    /// Adds a caller to a line; nil is the owner's line.
    ///
    /// - Returns: the caller who is refused instead, which may be the new one; nil if there is space. If too many
    ///   callers wait in all, the last caller of the longest line is refused, so that a few lines do not shut out the
    ///   others. If no line is longer, a caller from an address makes way for the first caller of a viewer.
    mutating func add(_ waiter: Waiter, from line: SignInLine?) -> Waiter? {
        let own = waiting[line]?.count ?? 0
        guard own < Self.maxOfLine else { return waiter }
        var refused: Waiter?
        // The total limit does not apply to the owner, who must always be able to set a PIN.
        if line != nil, count >= Self.maxCount {
            guard let longest = displaced(for: line, own) else { return waiter }
            refused = waiting[longest]?.popLast()
            if waiting[longest]?.isEmpty ?? true { drop(longest) }
        }
        if own == 0 { order.append(line) }
        waiting[line, default: []].append(waiter)
        return refused
    }

    /// Removes and returns the next caller, who is the first one in the line whose turn it is; nil if nobody waits.
    mutating func next() -> Waiter? {
        guard let index = nextIndex, let waiter = waiting[order[index]]?.first else { return nil }
        let line = order.remove(at: index)
        waiting[line]?.removeFirst()
        if waiting[line]?.isEmpty ?? true { waiting[line] = nil } else { order.append(line) }
        if line != nil { wasViewer = Self.isViewer(line) }
        return waiter
    }

    /// The index of the line whose turn it is. The owner goes first; viewers and addresses alternate.
    private var nextIndex: Int? {
        order.firstIndex { $0 == nil } ?? order.firstIndex { Self.isViewer($0) != wasViewer } ?? order.indices.first
    }

    /// Returns the line whose last caller makes way for a caller of this line; nil if there is none.
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

/// Counts failed attempts with names that no viewer has. These are slowed like failed attempts with a viewer's name.
///
/// The counts are kept only in memory, and the oldest are dropped if there are too many. Their only purpose is to keep
/// answers from revealing which names exist.
struct UnknownNames {
    private var tries: [String: SignInTries] = [:]
    private var order: [String] = []

    /// The maximum number of names to remember.
    static let maxCount = 1024

    /// Returns the failed attempts that were made with a name.
    subscript(name: String) -> SignInTries { tries[name] ?? SignInTries() }

    /// Ends waits that began while the clock was ahead.
    mutating func heal(_ name: String, at now: Int64) { _ = tries[name]?.heal(at: now) }

    /// Counts a failed attempt with a name from an address or device.
    mutating func noteWrong(_ name: String, from place: SignInPlace, at now: Int64) {
        if tries[name] == nil {
            order.append(name)
            if order.count > Self.maxCount { tries[order.removeFirst()] = nil }
        }
        tries[name, default: SignInTries()].noteWrong(from: place, at: now)
    }
}
