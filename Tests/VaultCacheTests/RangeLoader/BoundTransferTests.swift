import SeededRandom
import Testing
import VaultModel

@testable import VaultCache

/// Clients, answers, receivers and sealers of a representation without validators in random orders, without a socket, a
/// file or a clock.
@Suite("Loader state: nobody is cut off in a title whose versions nothing tells apart")
struct BoundTransferTests {
    @Test("In any order of events, whoever has begun to read an unchanged title gets all the bytes")
    func interleavings() {
        let run = FuzzRun("Readers of a title without validators", rounds: 500)
        var random = run.random
        var (held, apart) = (0, 0)
        for round in 0..<run.rounds {
            var world = BoundWorld(seed: random.next())
            if let mistake = world.run() {
                Issue.record("seed \(run.seed), round \(round): \(mistake)\n\(world.events.joined(separator: "\n"))")
                return
            }
            held += world.readsHeld ? 1 : 0
            apart += world.hasApart ? 1 : 0
        }
        #expect(
            held > run.rounds / 4 && apart > run.rounds / 4,
            "premise: clients read sealed bytes, and had transfers of their own")
    }
}

/// One loader's state and all its actors, which act one at a time in an order given by the seed.
private struct BoundWorld {
    private struct Client {
        enum Phase {
            case opening
            /// The origin is being asked whether it is there, before the representation is forgotten.
            case forgetting(edition: Int)
            case adding(edition: Int)
            /// Waits for its first byte.
            case reaching(ReaderState.ID)
            case reading(ReaderState.ID)
        }

        let wanted: ByteRange
        var phase = Phase.opening

        var reader: ReaderState.ID? {
            switch phase {
            case .opening, .forgetting, .adding: nil
            case .reaching(let reader), .reading(let reader): reader
            }
        }
    }

    private struct Transfer {
        enum Phase { case queued, asked, beginning, receiving, over }

        var phase = Phase.queued
        var connection: UInt64 = 0
        var range: ByteRange = 0..<0
        var isCancelled = false
        var failure: FetchFailure?
        var sealer = ModelSealer()
    }

    private enum Actor: Hashable {
        case client(Int)
        case receiver(FetchState.ID)
        case sealer(FetchState.ID)
    }

    private enum Kind: CaseIterable {
        case client, request, receiver, sealer, none
    }

    private let start = ContinuousClock.now
    private var random: SeededGenerator
    private var state = LoaderState(mode: .online)
    private var clients: [Int: Client] = [:]
    private var transfers: [FetchState.ID: Transfer] = [:]
    private var sleeping: Set<Actor> = []
    private var idle: [UInt64] = []
    private var lastConnection: UInt64 = 0
    private var lastSegment: UInt16 = 0
    /// The transfer whose representation the store begins; no other answer is processed meanwhile.
    private var beginning: FetchState.ID?
    private let length: Int64
    /// The kind of actor that is slow.
    private let slow: Kind
    private(set) var readsHeld = false
    private(set) var hasApart = false
    /// What happened last.
    private(set) var events: [String] = []

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
        length = .random(in: 1...2_500_000, using: &random)
        slow = Kind.allCases.randomElement(using: &random) ?? .none
    }

    private var information: ContentInformation {
        ContentInformation(length: length, type: nil, validators: Validators(), supportsRanges: true)
    }

    /// - Returns: the mistake that was found; nil if there was none.
    mutating func run() -> String? {
        let all = Int.random(in: 1...12, using: &random)
        var last = 0
        for _ in 0..<200_000 {
            if last < all, clients.isEmpty || Int.random(in: 0..<60, using: &random) == 0 {
                last += 1
                clients[last] = Client(wanted: randomRange())
                note("client \(last) wants \(clients[last]?.wanted ?? 0..<0)")
            }
            let actors = runnable(), slowOnes = Set(actors.filter { kind(of: $0) == slow })
            guard let actor = random.choose(among: actors, isSlow: slowOnes.contains) else {
                if clients.isEmpty, last == all { return transfers.isEmpty ? nil : "a transfer never ends" }
                if last < all { continue }
                return "nobody goes on, and \(clients.count) clients wait"
            }
            sleeping.remove(actor)
            switch actor {
            case .client(let id): if let mistake = act(id) { return mistake }
            case .receiver(let id): receive(id)
            case .sealer(let id): seal(id)
            }
        }
        return "it does not end"
    }

    private mutating func randomRange() -> ByteRange {
        let first = Int64.random(in: 0..<length, using: &random)
        return switch Int.random(in: 0..<4, using: &random) {
        case 0: 0..<length
        case 1: first..<length
        case 2: first..<min(length, first + 10)
        default: first..<min(length, first + .random(in: 1...400_000, using: &random))
        }
    }

    private mutating func note(_ event: String) {
        if events.count == 40 { events.removeFirst() }
        events.append(event)
    }

    private func kind(of actor: Actor) -> Kind {
        switch actor {
        case .client: .client
        case .receiver(let id): transfers[id]?.phase == .receiving ? .receiver : .request
        case .sealer: .sealer
        }
    }

    private func runnable() -> [Actor] {
        var actors: [Actor] = []
        for (id, client) in clients.sorted(by: { $0.key < $1.key }) {
            let isWoken = client.reader.map { state.readers[$0]?.signal.isRaised ?? false } ?? false
            if !sleeping.contains(.client(id)) || isWoken { actors.append(.client(id)) }
        }
        for (id, transfer) in transfers.sorted(by: { $0.key < $1.key }) {
            let fetch = state.fetches[id]
            let waits = transfer.phase == .asked && beginning != nil
            if transfer.phase != .over, !waits,
                !sleeping.contains(.receiver(id)) || transfer.isCancelled || fetch?.receiverSignal.isRaised ?? true
            {
                actors.append(.receiver(id))
            }
            if transfer.sealer.mayAct(for: fetch, isAsleep: sleeping.contains(.sealer(id))) {
                actors.append(.sealer(id))
            }
        }
        return actors
    }

    private mutating func apply(_ effects: Effects) {
        for id in effects.cancelled { transfers[id]?.isCancelled = true }
    }

    // MARK: Clients

    /// - Returns: what is wrong with what the client is told; nil if nothing is.
    private mutating func act(_ id: Int) -> String? {
        guard let client = clients[id] else { return nil }
        switch client.phase {
        case .opening:
            // As often as it takes: a client may be slower here than all the others together.
            let hasGap = !state.present.gaps(in: client.wanted).isEmpty
            let isLost = hasGap && !canGoOn(to: client.wanted)
            let edition = state.readers.edition
            clients[id]?.phase = isLost ? .forgetting(edition: edition) : .adding(edition: edition)
        case .forgetting(let edition):
            if !canGoOn(to: client.wanted) { apply(state.forget()) }
            clients[id]?.phase = .adding(edition: edition)
        case .adding(let edition): add(id, client.wanted, edition)
        case .reaching(let reader): return reach(id, client.wanted, reader)
        case .reading(let reader): return read(id, client.wanted, reader)
        }
        return nil
    }

    private mutating func canGoOn(to wanted: ByteRange) -> Bool {
        state.known.isBound = state.known.information != nil
        let isRead = state.readers.hasCurrent
        let isLost = state.known.isBound && state.known.connection == nil && !state.present.isEmpty && !isRead
        return !isLost && state.boundStep(for: wanted) != .begin
    }

    private mutating func add(_ id: Int, _ wanted: ByteRange, _ edition: Int) {
        state.known.isBound = state.known.information != nil
        let step = state.boundStep(for: wanted)
        guard state.readers.edition == edition, step != .begin else {
            clients[id]?.phase = .opening
            return
        }
        let reader = step == .apart ? state.addSeparateReader(wanted) : state.addReader(wanted)
        hasApart = hasApart || step == .apart
        note("client \(id) is reader \(reader), \(step), in edition \(edition)")
        clients[id]?.phase = .reaching(reader)
    }

    private mutating func reach(_ id: Int, _ wanted: ByteRange, _ reader: ReaderState.ID) -> String? {
        let (step, effects) = state.step(reader, now: start)
        apply(effects)
        switch step {
        case .take, .open, .finished:
            if state.place(reader, wanted, of: state.readers.edition, isWhole: false) {
                state.begin(reader, isDownload: false)
                clients[id]?.phase = .reading(reader)
            } else {
                openAgain(id, reader)
            }
        case .changed: openAgain(id, reader)
        case .fetch(let fetch):
            transfers[fetch] = Transfer()
            sleeping.insert(.client(id))
        case .wait: sleeping.insert(.client(id))
        case .failed, .hole: return "client \(id) is told \(step)"
        }
        return nil
    }

    private mutating func openAgain(_ id: Int, _ reader: ReaderState.ID) {
        note("client \(id) opens again")
        apply(state.removeReader(reader))
        clients[id]?.phase = .opening
    }

    private mutating func read(_ id: Int, _ wanted: ByteRange, _ reader: ReaderState.ID) -> String? {
        guard let position = state.readers[reader]?.position else { return "reader \(reader) is gone" }
        guard Int.random(in: 0..<200, using: &random) > 0 else {
            note("client \(id) leaves")
            leave(id, reader)
            return nil
        }
        let (step, effects) = state.step(reader, now: start)
        apply(effects)
        switch step {
        case .take(let bytes): advance(reader, by: Int64(bytes.count))
        case .open(_, let run):
            readsHeld = true
            advance(reader, by: min(64 << 10, run.upperBound - position))
        case .wait: sleeping.insert(.client(id))
        case .finished:
            guard position >= wanted.upperBound else { return "client \(id) gets \(wanted) only to \(position)" }
            leave(id, reader)
        case .fetch, .hole, .failed, .changed: return "client \(id) is cut off at \(position) of \(wanted): \(step)"
        }
        return nil
    }

    private mutating func advance(_ reader: ReaderState.ID, by count: Int64) {
        let part = Bool.random(using: &random) ? count : .random(in: 1...count, using: &random)
        apply(state.advance(reader, to: (state.readers[reader]?.position ?? 0) + part))
    }

    private mutating func leave(_ id: Int, _ reader: ReaderState.ID) {
        clients[id] = nil
        apply(state.removeReader(reader))
    }

    // MARK: Transfers

    private mutating func receive(_ id: FetchState.ID) {
        guard let transfer = transfers[id] else { return }
        guard let fetch = state.fetches[id], !transfer.isCancelled || beginning == id else { return end(id) }
        switch transfer.phase {
        case .queued: ask(id, fetch)
        case .asked: takeIn(id, transfer)
        case .beginning:
            beginning = nil
            note("transfer \(id) begins a representation")
            apply(state.begin(information, keeping: id, isBound: true, connection: transfer.connection))
            let isAwaited = state.readers.values.contains { $0.fetch == id && !$0.hasBegun }
            if isAwaited { accept(id, transfer) } else { end(id) }
        case .receiving:
            switch state.fetches.mayReceive(id, now: start) {
            case nil: end(id)
            case false: sleeping.insert(.receiver(id))
            case true:
                let left = transfer.range.upperBound - fetch.present
                guard left > 0 else {
                    idle.append(transfer.connection)
                    return end(id)
                }
                let count = min(Int64.random(in: 1...32 << 10, using: &random), left)
                apply(state.received([UInt8](repeating: 7, count: Int(count)), by: id, now: start).effects)
            }
        case .over: break
        }
    }

    private mutating func ask(_ id: FetchState.ID, _ fetch: FetchState) {
        guard fetch.isActive else { return end(id) }
        let isCut = fetch.end < state.known.information?.length ?? .max
        let end = isCut ? min(fetch.end, length) : length
        transfers[id]?.range = fetch.start..<end
        transfers[id]?.phase = .asked
        let reused = Bool.random(using: &random) ? idle.popLast() : nil
        if reused == nil { lastConnection += 1 }
        transfers[id]?.connection = reused ?? lastConnection
        note("transfer \(id) asks for \(fetch.start)..<\(fetch.end)")
    }

    private mutating func takeIn(_ id: FetchState.ID, _ transfer: Transfer) {
        state.fetches[id]?.statedEnd = transfer.range.upperBound
        guard state.known.information != nil else { return begin(id) }
        state.known.isBound = true
        let (share, effects) = state.share(of: id, from: transfer.connection)
        apply(effects)
        note("transfer \(id) is to \(share)")
        switch share {
        case .fill, .apart: accept(id, transfer)
        case .begin: begin(id)
        case .nobodys: end(id)
        case .none:
            transfers[id]?.failure = .final(VaultError(.changed, "open it again"))
            end(id)
        }
    }

    private mutating func begin(_ id: FetchState.ID) {
        if state.fetches[id]?.isSeparate == true { state.fetches[id]?.destination = .readers }
        for reader in state.readers.takers(of: id) {
            state.readers[reader.id]?.isSeparate = false
        }
        transfers[id]?.phase = .beginning
        beginning = id
    }

    private mutating func accept(_ id: FetchState.ID, _ transfer: Transfer) {
        transfers[id]?.phase = .receiving
        apply(state.accept(id, end: transfer.range.upperBound, fromZero: false))
    }

    private mutating func end(_ id: FetchState.ID) {
        note("transfer \(id) ends")
        transfers[id]?.phase = .over
        apply(state.receiverEnded(id, transfers[id]?.failure, now: start, chance: 1))
        removeIfOver(id)
    }

    private mutating func removeIfOver(_ id: FetchState.ID) {
        guard let transfer = transfers[id], transfer.phase == .over, !transfer.sealer.isRunning else { return }
        transfers[id] = nil
        apply(state.remove(id))
    }

    private mutating func seal(_ id: FetchState.ID) {
        let (work, effects) = state.sealWork(id)
        apply(effects)
        switch work {
        case .wait: sleeping.insert(.sealer(id))
        case .close: close(id)
        case .finish:
            close(id)
            transfers[id]?.sealer.isRunning = false
            removeIfOver(id)
        case .seal(let bytes, let offset):
            let segments = transfers[id]?.sealer.write(Int64(bytes.count), at: offset, after: &lastSegment) ?? []
            for segment in segments { apply(state.sealed(segment, by: id)) }
        }
    }

    private mutating func close(_ id: FetchState.ID) {
        if let segment = transfers[id]?.sealer.close() { apply(state.sealed(segment, by: id)) }
    }
}
