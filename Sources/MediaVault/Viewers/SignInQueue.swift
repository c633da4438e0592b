import VaultModel

/// Derives one PIN at a time: each takes much memory and a thread, and anyone who reaches the service can ask for it.
///
/// The addresses of clients take turns, so that one that asks again and again delays the others by one PIN. Devices on
/// which a viewer has signed in before go before all addresses.
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
    /// - Parameter place: from where the caller signs in; nil for the owner, who goes before all others.
    /// - Throws: ``VaultError`` with code `busy` if too many wait.
    func run<Result: Sendable>(
        from place: SignInPlace?, _ body: @Sendable () async throws -> Result
    ) async throws -> Result {
        guard await enter(from: place) else {
            throw VaultError(.busy, "too many people are signing in at the moment; try again in a few seconds")
        }
        defer { leave() }
        return try await body()
    }

    /// Waits for a turn; returns false if too many wait.
    private func enter(from place: SignInPlace?) async -> Bool {
        await withCheckedContinuation { waiter in
            let (isAdmitted, refused): (Bool, CheckedContinuation<Bool, Never>?) = state.withLock { state in
                guard state.isTaken else {
                    state.isTaken = true
                    return (true, nil)
                }
                return (false, state.turns.add(waiter, from: place))
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

/// Those who wait, of several places that take turns.
struct Turns<Waiter> {
    private var waiting: [SignInPlace?: [Waiter]] = [:]
    /// The places from which callers wait; the first one is next.
    private var order: [SignInPlace?] = []

    /// The most that wait from one place, and in all.
    static var maxOfPlace: Int { 8 }
    static var maxCount: Int { 64 }

    /// How many wait.
    var count: Int { waiting.values.reduce(0) { $0 + $1.count } }

    /// Adds one who waits from a place, or the owner if it is nil.
    ///
    /// - Returns: the one who is refused for it; nil if there is space. If too many wait in all, that is the last one of
    ///   the address from which the most wait, so that a few addresses do not shut out the others.
    mutating func add(_ waiter: Waiter, from place: SignInPlace?) -> Waiter? {
        let own = waiting[place]?.count ?? 0
        guard own < Self.maxOfPlace else { return waiter }
        var refused: Waiter?
        // The owner can always set a PIN.
        if place != nil, count >= Self.maxCount {
            let addresses = waiting.filter { Self.rank($0.key) == Self.rank(.address([])) }
            let fullest = addresses.max { $0.value.count < $1.value.count }
            // A device gets the place of any address.
            let least = Self.rank(place) < Self.rank(.address([])) ? 0 : own + 1
            guard let fullest, fullest.value.count > least else { return waiter }
            refused = waiting[fullest.key]?.popLast()
            if waiting[fullest.key]?.isEmpty ?? true { drop(fullest.key) }
        }
        if own == 0 { append(place) }
        waiting[place, default: []].append(waiter)
        return refused
    }

    /// Takes the next one: the longest waiting of the place whose turn it is; nil if there is none.
    mutating func next() -> Waiter? {
        guard let place = order.first, let waiter = waiting[place]?.first else { return nil }
        waiting[place]?.removeFirst()
        let isLast = waiting[place]?.isEmpty ?? true
        drop(place, withWaiting: isLast)
        if !isLast { append(place) }
        return waiter
    }

    /// The owner goes first, then come devices, then addresses.
    private static func rank(_ place: SignInPlace?) -> Int {
        switch place {
        case nil: 0
        case .device: 1
        case .address: 2
        }
    }

    /// Gives a place its turn after all others of its rank.
    private mutating func append(_ place: SignInPlace?) {
        let index = order.firstIndex { Self.rank($0) > Self.rank(place) } ?? order.endIndex
        order.insert(place, at: index)
    }

    private mutating func drop(_ place: SignInPlace?, withWaiting: Bool = true) {
        order.removeAll { $0 == place }
        if withWaiting { waiting[place] = nil }
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

    /// Counts a wrong try from an address.
    mutating func noteWrong(_ name: String, from place: SignInPlace, at now: Int64) {
        if tries[name] == nil {
            order.append(name)
            if order.count > Self.maxCount { tries[order.removeFirst()] = nil }
        }
        tries[name, default: SignInTries()].noteWrong(from: place, at: now)
    }
}
