import SeededRandom
import Testing
import VaultModel

@testable import VaultCache

/// Readers, receivers and sealers of one loader in random orders, without a socket, a file or a clock.
@Suite("Loader state: a shared transfer wakes all its waiters")
struct SharedTransferTests {
    private let start = ContinuousClock.now

    @Test("A transfer that starts again at byte 0 continues while its held bytes are skipped")
    func passesOver() async throws {
        var state = LoaderState(mode: .online)
        _ = state.learn(
            ContentInformation(
                length: 8_000_000, type: nil, validators: Validators(entityTag: EntityTag(strong: "1")),
                supportsRanges: false))
        let held = ModelSealer.segment(1, 0..<4_000_000)
        state.known.map.put(held)
        let reader = state.addReader(4_000_000..<8_000_000)
        guard case (.fetch(let fetch), _) = state.step(reader, now: start) else {
            Issue.record("the reader must fetch the gap")
            return
        }
        _ = state.accept(fetch, end: 8_000_000, fromZero: true)
        while state.fetches.mayReceive(fetch, now: start) == true {
            _ = state.received([UInt8](repeating: 1, count: 16 << 10), by: fetch, now: start)
        }
        let present = try #require(state.fetches[fetch]?.present)
        #expect(present < 4_000_000, "the origin is faster than the sealer, which slows it down")
        await withCheckedContinuation { receiver in
            let isWaiting = state.fetches[fetch]?.receiverSignal.wait(receiver) ?? false
            #expect(isWaiting)
            guard case (.close, let effects) = state.sealWork(fetch) else {
                Issue.record("held bytes must be skipped")
                receiver.resume()
                return
            }
            #expect(effects.waiters.count == 1, "the receiver continues")
            receiver.resume()
        }
    }

    @Test("Without range support, a transfer continues for a reader that is behind when another reader leaves")
    func adopted() {
        var state = LoaderState(mode: .online)
        _ = state.learn(
            ContentInformation(
                length: 8_000_000, type: nil, validators: Validators(entityTag: EntityTag(strong: "1")),
                supportsRanges: false))
        let leaving = state.addReader(0..<8_000_000)
        guard case (.fetch(let fetch), _) = state.step(leaving, now: start) else {
            Issue.record("the reader must fetch the gap")
            return
        }
        _ = state.accept(fetch, end: 8_000_000, fromZero: true)
        _ = state.received([UInt8](repeating: 1, count: 64 << 10), by: fetch, now: start)
        _ = state.sealed(ModelSealer.segment(1, 0..<65_536), by: fetch)
        _ = state.advance(leaving, to: 65_536)
        let behind = state.addReader(0..<8_000_000)
        guard case (.open, _) = state.step(behind, now: start) else {
            Issue.record("the other reader must read sealed bytes")
            return
        }
        let first = state.removeReader(leaving).cancelled
        #expect(first.isEmpty, "a new transfer would start at byte 0 again")
        let last = state.removeReader(behind).cancelled
        #expect(last == [fetch], "no reader is left")
    }

    @Test("In any order of events every reader gets all its bytes, and none waits for a timer")
    func interleavings() {
        let seed = UInt64.random(in: 0...UInt64.max)
        print("SharedTransferTests.interleavings: seed \(seed)")
        var random = SeededGenerator(seed: seed)
        var shared = 0
        for round in 0..<400 {
            var world = Interleaving(seed: random.next())
            if let mistake = world.run() {
                Issue.record("seed \(seed), round \(round): \(mistake)")
                return
            }
            shared += world.isShared ? 1 : 0
        }
        #expect(shared > 100, "several readers took bytes of one transfer")
    }
}

/// One loader's state and all its actors, which act one at a time in an order given by the seed.
private struct Interleaving {
    private struct Transfer {
        var isAsked = false
        var isReceiving = true
        var isCancelled = false
        var sealer = ModelSealer()
    }

    private enum Actor: Hashable {
        case reader(ReaderState.ID)
        case receiver(FetchState.ID)
        case sealer(FetchState.ID)

        var kind: Int {
            switch self {
            case .reader: 0
            case .receiver: 1
            case .sealer: 2
            }
        }
    }

    private let start = ContinuousClock.now
    private var random: SeededGenerator
    private var state = LoaderState(mode: .online)
    private var transfers: [FetchState.ID: Transfer] = [:]
    private var sleeping: Set<Actor> = []
    private var wanted: [ReaderState.ID: ByteRange] = [:]
    private var lastSegment: UInt16 = 0
    private let length: Int64
    private let supportsRanges: Bool
    private let storeFails: Bool
    /// The kind of actor that is slow; no actor is slow if no kind has this number.
    private let slow: Int
    private(set) var isShared = false

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
        length = .random(in: 1...2_500_000, using: &random)
        supportsRanges = .random(using: &random)
        storeFails = Int.random(in: 0..<4, using: &random) == 0
        slow = .random(in: 0...3, using: &random)
        guard Bool.random(using: &random) else { return }
        _ = state.learn(information)
        // Without range support, held bytes are sent again and skipped.
        guard Bool.random(using: &random) else { return }
        state.known.map.put(ModelSealer.segment(.max, 0..<Int64.random(in: 1...length, using: &random)))
    }

    private var information: ContentInformation {
        ContentInformation(
            length: length, type: nil, validators: Validators(entityTag: EntityTag(strong: "1")),
            supportsRanges: supportsRanges)
    }

    /// - Returns: The mistake that was found; nil if there was none.
    mutating func run() -> String? {
        let readers = Int.random(in: 1...5, using: &random)
        var toCome = readers
        for _ in 0..<200_000 {
            if toCome > 0, wanted.isEmpty || Int.random(in: 0..<40, using: &random) == 0 {
                addReader()
                toCome -= 1
            }
            guard let actor = random.choose(among: runnable(), isSlow: { [slow] in $0.kind == slow }) else {
                if wanted.isEmpty, toCome == 0 { return transfers.isEmpty ? nil : "a transfer never ends" }
                if toCome > 0 { continue }
                return "nobody goes on, and \(wanted.count) readers wait: \(state.fetches.values.map { "\($0)" })"
            }
            sleeping.remove(actor)
            switch actor {
            case .reader(let id): if let mistake = stepReader(id) { return mistake }
            case .receiver(let id): receive(id)
            case .sealer(let id): seal(id)
            }
        }
        return "it does not end: \(length) \(supportsRanges) \(storeFails)"
    }

    private mutating func addReader() {
        let first = Int64.random(in: 0..<length, using: &random)
        // A reader of ten bytes in the middle gets them, or the whole resource without range support.
        let isWhole = !supportsRanges || Bool.random(using: &random)
        let range = isWhole ? 0..<length : first..<min(length, first + 10)
        let asked =
            state.known.information == nil && Bool.random(using: &random) ? first..<min(length, first + 10) : range
        wanted[state.addReader(asked)] = asked
    }

    private func runnable() -> [Actor] {
        var actors: [Actor] = []
        for id in wanted.keys.sorted() {
            let isWoken = state.readers[id]?.signal.isRaised ?? false
            if !sleeping.contains(.reader(id)) || isWoken { actors.append(.reader(id)) }
        }
        for (id, transfer) in transfers.sorted(by: { $0.key < $1.key }) {
            let fetch = state.fetches[id]
            if transfer.isReceiving,
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

    // MARK: Readers

    private mutating func stepReader(_ id: ReaderState.ID) -> String? {
        guard let range = wanted[id], let position = state.readers[id]?.position else { return "a reader is gone" }
        // A player may leave at any time, and opens again if its range was refused.
        let opensAgain = !supportsRanges && state.known.information != nil && range.lowerBound != 0
        if opensAgain || Int.random(in: 0..<200, using: &random) == 0 {
            wanted[id] = nil
            apply(state.removeReader(id))
            if opensAgain { wanted[state.addReader(0..<length)] = 0..<length }
            return nil
        }
        let (step, effects) = state.step(id, now: start)
        apply(effects)
        if let fetch = state.readers[id]?.fetch, state.readers.values.count(where: { $0.fetch == fetch }) > 1 {
            isShared = true
        }
        switch step {
        case .take(let bytes): return advance(id, to: position + part(Int64(bytes.count)))
        case .open(_, let run): return advance(id, to: position + part(min(64 << 10, run.upperBound - position)))
        case .wait: sleeping.insert(.reader(id))
        case .fetch(let fetch):
            transfers[fetch] = Transfer()
            sleeping.insert(.reader(id))
        case .finished:
            guard position >= min(range.upperBound, length) else { return "a reader ends at \(position) of \(range)" }
            wanted[id] = nil
            apply(state.removeReader(id))
        case .hole, .failed, .changed: return "a reader of \(range) is told \(step)"
        }
        return nil
    }

    private mutating func advance(_ id: ReaderState.ID, to position: Int64) -> String? {
        apply(state.advance(id, to: position))
        return nil
    }

    private mutating func part(_ count: Int64) -> Int64 {
        Bool.random(using: &random) ? count : .random(in: 1...count, using: &random)
    }

    // MARK: Transfers

    private mutating func receive(_ id: FetchState.ID) {
        guard let transfer = transfers[id], let fetch = state.fetches[id] else { return end(id) }
        if transfer.isCancelled { return end(id) }
        guard transfer.isAsked else {
            transfers[id]?.isAsked = true
            if state.known.information == nil { apply(state.learn(information)) }
            let end = supportsRanges ? min(fetch.end, length) : length
            return apply(state.accept(id, end: end, fromZero: !supportsRanges))
        }
        switch state.fetches.mayReceive(id, now: start) {
        case nil: end(id)
        case false: sleeping.insert(.receiver(id))
        case true:
            let count = min(Int64.random(in: 1...32 << 10, using: &random), length - fetch.present)
            guard count > 0 else { return end(id) }
            let (_, effects) = state.received([UInt8](repeating: 7, count: Int(count)), by: id, now: start)
            apply(effects)
        }
    }

    private mutating func end(_ id: FetchState.ID) {
        transfers[id]?.isReceiving = false
        apply(state.receiverEnded(id, nil, now: start, chance: 1))
        removeIfOver(id)
    }

    private mutating func removeIfOver(_ id: FetchState.ID) {
        guard let transfer = transfers[id], !transfer.isReceiving, !transfer.sealer.isRunning else { return }
        transfers[id] = nil
        apply(state.remove(id))
    }

    // MARK: Sealing

    private mutating func seal(_ id: FetchState.ID) {
        let (work, effects) = state.sealWork(id)
        apply(effects)
        if storeFails, Int.random(in: 0..<60, using: &random) == 0 {
            apply(state.storeAgain())
        }
        switch work {
        case .wait: sleeping.insert(.sealer(id))
        case .close: close(id)
        case .finish:
            close(id)
            transfers[id]?.sealer.isRunning = false
            removeIfOver(id)
        case .seal(let bytes, let offset):
            if storeFails, Int.random(in: 0..<20, using: &random) == 0 { return fail(id) }
            write(Int64(bytes.count), at: offset, by: id)
        }
    }

    private mutating func write(_ count: Int64, at offset: Int64, by id: FetchState.ID) {
        let segments = transfers[id]?.sealer.write(count, at: offset, after: &lastSegment) ?? []
        for segment in segments { apply(state.sealed(segment, by: id)) }
    }

    private mutating func close(_ id: FetchState.ID) {
        if let segment = transfers[id]?.sealer.close() { apply(state.sealed(segment, by: id)) }
    }

    private mutating func fail(_ id: FetchState.ID) {
        let lost = transfers[id]?.sealer.writing?.id
        transfers[id]?.sealer.giveUp()
        if Bool.random(using: &random) {
            let (isRewound, effects) = state.rewind(id, lost: lost)
            apply(effects)
            if isRewound { return }
        }
        apply(state.storeFailed(id, segment: lost, VaultError(.diskFull, "the disk is full")))
    }
}
