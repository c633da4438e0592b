import MediaVault
import VaultService

/// Fetches several titles, a few at a time.
struct ListFetch: Sendable {
    let orders: [FetchOrder]
    let naming: TitleNaming
    let options: DownloadOptions
    /// The picture to set as the title's cover, if there is only one title; nil for none.
    var cover: [UInt8]?
    /// The maximum number of titles to fetch at a time; nil for the default.
    let parallel: Int?
    /// Whether to show only errors.
    let isQuiet: Bool
    /// Whether to look up each title in the vault after its fetch, because its record will be printed.
    let isRecorded: Bool

    /// The maximum number of titles that have begun to arrive but are not yet durable. It is large so that many small
    /// titles share a sync.
    private static let mostUnfinished = 64
    /// The maximum number of titles shown on separate lines if the terminal cannot redraw a line.
    private static let mostShown = 20
    /// The maximum number of failures repeated at the end.
    private static let mostRepeated = 20

    /// An event during a title's fetch.
    private enum Event: Sendable {
        /// All of the title's bytes have arrived, so that another title may begin.
        case arrived(Int)
        case ended(Int, Result<FetchedRecord, any Error>)
    }

    /// Fetches the titles. If a title fails, the failure is reported, and the other titles are fetched nevertheless.
    ///
    /// - Returns: a record for each title, in the order of the list.
    func run(in vault: any VaultClient) async throws -> [FetchedRecord] {
        var records = [FetchedRecord?](repeating: nil, count: orders.count)
        // Malformed lines are reported before the first title is fetched.
        for (index, order) in orders.enumerated() {
            guard case .failure(let error) = order.content else { continue }
            records[index] = await order.failed(error, number: index + 1, of: orders.count)
        }
        let numbers = records.indices.filter { records[$0] == nil }
        let total = showsTotal(of: numbers.count) ? ListProgress(of: numbers.count) : nil
        var state = State(
            schedule: FetchSchedule(numbers.map { orders[$0].host }, most: parallel), numbers: numbers)
        let (stream, tell) = AsyncStream.makeStream(of: Event.self)
        var events = stream.makeAsyncIterator()
        try await withThrowingDiscardingTaskGroup { group in
            while true {
                while let place = state.begin(atMost: Self.mostUnfinished) {
                    let fetch = fetch(numbers[place], total)
                    group.addTask {
                        let result = await fetch.result(in: vault) { tell.yield(.arrived(place)) }
                        tell.yield(.ended(place, result))
                    }
                }
                guard state.isUnfinished else { return }
                // A cancelled task gets no more events.
                guard let event = await events.next(isolation: #isolation) else { throw CancellationError() }
                switch event {
                case .arrived(let place): state.free(place, orders[numbers[place]].host)
                case .ended(let place, let result):
                    state.end(place, orders[numbers[place]].host)
                    records[numbers[place]] = try result.get()
                }
            }
        }
        await total?.end()
        return records.compactMap(\.self)
    }

    /// Reports the number of complete titles, and repeats the failures.
    func report(_ records: [FetchedRecord]) async {
        guard records.count > 1 else { return }
        await Terminal.shared.say(FetchTotal(records).sentence)
        let failures = records.compactMap(\.failure)
        for failure in failures.prefix(Self.mostRepeated) { await Terminal.shared.say("failed: \(failure)") }
        if failures.count > Self.mostRepeated {
            await Terminal.shared.say("and \(failures.count - Self.mostRepeated) more failed")
        }
    }

    private func fetch(_ number: Int, _ total: ListProgress?) -> TitleFetch {
        TitleFetch(
            order: orders[number], naming: naming, number: number + 1, count: orders.count, options: options,
            cover: cover, total: total, isQuiet: isQuiet, isRecorded: isRecorded)
    }

    /// Returns whether the progress of all titles is shown on one line, because a terminal can redraw only one.
    private func showsTotal(of count: Int) -> Bool {
        !isQuiet && count > (Terminal.shared.canRedraw ? 1 : Self.mostShown)
    }

    /// The state of the fetch of all titles.
    private struct State {
        var schedule: FetchSchedule
        let numbers: [Int]
        private var begun = 0
        private var ended = 0
        /// The titles that are still receiving bytes from their hosts.
        private var taking: Set<Int> = []

        init(schedule: FetchSchedule, numbers: [Int]) { (self.schedule, self.numbers) = (schedule, numbers) }

        var isUnfinished: Bool { ended < numbers.count }

        mutating func begin(atMost most: Int) -> Int? {
            guard begun - ended < most, let place = schedule.begin() else { return nil }
            begun += 1
            taking.insert(place)
            return place
        }

        mutating func free(_ place: Int, _ host: String) {
            if taking.remove(place) != nil { schedule.end(host: host) }
        }

        mutating func end(_ place: Int, _ host: String) {
            free(place, host)
            ended += 1
        }
    }
}

extension FetchOrder {
    /// The host that serves the title; empty for a title named by its id, whose host only the vault knows.
    fileprivate var host: String {
        guard case .url(let url)? = try? content.get().name else { return "" }
        return url.authority
    }

    /// Reports that the title cannot be fetched.
    ///
    /// - Parameters:
    ///   - number: the title's position among `count`, from 1.
    ///   - document: a summary of what the vault holds of the title.
    ///   - more: text to append to the message.
    /// - Returns: the record of the failure.
    func failed(
        _ error: VaultError, number: Int, of count: Int, holding document: ResourceSummary? = nil, _ more: String = ""
    ) async -> FetchedRecord {
        let message = place.map { "\($0): \(error.text)" } ?? error.message(ofURL: number, of: count)
        let sentence = message + more
        await Terminal.shared.say(sentence)
        return FetchedRecord(text, document, failed: error, sentence)
    }
}
