import VaultModel

/// Derives one PIN at a time: each takes much memory and a thread, and anyone who reaches the service can ask for it.
///
/// The addresses of clients take turns, so that one that asks again and again delays the others by one PIN.
final class SignInQueue: Sendable {
    private struct State {
        var isTaken = false
        var turns = Turns<CheckedContinuation<Bool, Never>>()
    }

    private let state = Locked(State())

    /// How many callers wait, beside the one whose turn it is.
    var waitingCount: Int { state.withLock { $0.turns.count } }

    /// Runs `body` when it is the caller's turn.
    ///
    /// - Parameter address: the network address of the caller; nil for the owner, who goes before all others.
    /// - Throws: ``VaultError`` with code `busy` if too many wait.
    func run<Result: Sendable>(
        from address: [UInt8]?, _ body: @Sendable () async throws -> Result
    ) async throws -> Result {
        guard await enter(from: address) else {
            throw VaultError(.busy, "too many people are signing in at the moment; try again in a few seconds")
        }
        defer { leave() }
        return try await body()
    }

    /// Waits for a turn; returns false if too many wait.
    private func enter(from address: [UInt8]?) async -> Bool {
        await withCheckedContinuation { waiter in
            let (isAdmitted, refused): (Bool, CheckedContinuation<Bool, Never>?) = state.withLock { state in
                guard state.isTaken else {
                    state.isTaken = true
                    return (true, nil)
                }
                return (false, state.turns.add(waiter, from: address))
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

/// Those who wait, of several addresses that take turns.
struct Turns<Waiter> {
    private var waiting: [[UInt8]?: [Waiter]] = [:]
    /// The addresses from which callers wait; the first one is next.
    private var order: [[UInt8]?] = []

    /// The most that wait from one address, and in all.
    static var maxOfAddress: Int { 8 }
    static var maxCount: Int { 64 }

    /// How many wait.
    var count: Int { waiting.values.reduce(0) { $0 + $1.count } }

    /// Adds one who waits from an address, or the owner if it is nil.
    ///
    /// - Returns: the one who is refused for it; nil if there is space. If too many wait in all, that is the last one of
    ///   the address from which the most wait, so that a few addresses do not shut out the others.
    mutating func add(_ waiter: Waiter, from address: [UInt8]?) -> Waiter? {
        let own = waiting[address]?.count ?? 0
        guard own < Self.maxOfAddress else { return waiter }
        var refused: Waiter?
        // The owner can always set a PIN.
        if address != nil, count >= Self.maxCount {
            let others = waiting.filter { $0.key != nil }
            guard let fullest = others.max(by: { $0.value.count < $1.value.count }), fullest.value.count > own + 1
            else {
                return waiter
            }
            refused = waiting[fullest.key]?.popLast()
        }
        if own == 0 { order.insert(address, at: address == nil ? 0 : order.endIndex) }
        waiting[address, default: []].append(waiter)
        return refused
    }

    /// Takes the next one: the longest waiting of the address whose turn it is; nil if there is none.
    mutating func next() -> Waiter? {
        guard let address = order.first, let waiter = waiting[address]?.first else { return nil }
        order.removeFirst()
        waiting[address]?.removeFirst()
        if waiting[address]?.isEmpty ?? true {
            waiting[address] = nil
        } else {
            order.insert(address, at: address == nil ? 0 : order.endIndex)
        }
        return waiter
    }
}

/// The wrong tries with names that no viewer has, so that they are slowed as those of a viewer are.
///
/// They are kept in memory, and of too many the oldest are forgotten: nothing depends on them but that an answer does not
/// tell which names exist.
struct UnknownNames {
    private var tries: [String: SignInTries] = [:]
    private var order: [String] = []

    /// The most names that are remembered.
    static let maxCount = 1024

    /// Returns the wrong tries with a name.
    subscript(name: String) -> SignInTries { tries[name] ?? SignInTries() }

    /// Counts a wrong try.
    mutating func noteWrong(_ name: String, at now: Int64) {
        if tries[name] == nil {
            order.append(name)
            if order.count > Self.maxCount { tries[order.removeFirst()] = nil }
        }
        tries[name, default: SignInTries()].noteWrong(at: now)
    }
}
