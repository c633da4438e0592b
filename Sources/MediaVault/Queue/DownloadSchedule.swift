import VaultCache
import VaultModel
import VaultStorage

/// Decides which downloads of the queue run. It is a value type.
struct DownloadSchedule: Sendable {
    /// The properties of a queue entry that determine when it runs.
    struct Candidate: Hashable, Sendable {
        let id: DownloadID
        /// The host and port of the entry's URL.
        let host: String
        /// Whether the entry is waiting, neither paused nor failed.
        let isWaiting: Bool
        /// The time of the entry's next attempt, in seconds since 1970; nil if it may run at once.
        let notBefore: Int64?
    }

    /// A point in time, with its local time of day.
    struct Moment: Hashable, Sendable {
        /// The time in seconds since 1970.
        let time: Int64
        /// The number of seconds since the last midnight, in local time.
        let secondOfDay: Int
    }

    /// The decisions for the present moment.
    struct Plan: Hashable, Sendable {
        /// The downloads to start, in this order.
        var start: [DownloadID] = []
        /// The running downloads to stop; they then wait again.
        var stop: Set<DownloadID> = []
        /// The running downloads to stop because they are too slow while others wait. They move behind all others.
        var giveWay: Set<DownloadID> = []
        /// The number of seconds until the next decision, at least 1; nil if only a change to the queue can alter the
        /// plan.
        var next: Int64?
    }

    let settings: DownloadSettings

    /// The maximum number of seconds until the next decision while something waits for a set time. It is bounded
    /// because clocks may be changed.
    private static let longestWait: Int64 = 600

    /// Decides which downloads start, stop, and give way.
    ///
    /// - Parameters:
    ///   - queue: the entries in the order in which they should run. It is read only as far as needed.
    ///   - hosts: the number of hosts in the queue, if known. Once all of them are at their limit, nothing more can
    ///     start.
    ///   - running: the entries that are running or ending.
    ///   - ending: the running entries that were told to stop.
    ///   - slow: the running entries whose rate is below the least rate.
    func plan(
        _ queue: some Sequence<Candidate>, hosts: Int = .max, running: Set<DownloadID>, ending: Set<DownloadID> = [],
        slow: Set<DownloadID> = [], at now: Moment
    ) -> Plan {
        var plan = Plan()
        if let hours = settings.hours {
            plan.next = min(Self.longestWait, Int64(hours.secondsUntilChange(secondOfDay: now.secondOfDay)))
            guard hours.contains(secondOfDay: now.secondOfDay) else {
                plan.stop = running.subtracting(ending)
                return plan
            }
        }
        // Running entries keep their places ahead of waiting ones, regardless of the order. Ending entries still count
        // towards their host's limit.
        var (count, perHost): (Int, [String: Int]) = (0, [:])
        func takesPlace(_ candidate: Candidate) -> Bool {
            guard count < settings.parallel, perHost[candidate.host, default: 0] < settings.perHost else {
                return false
            }
            count += 1
            perHost[candidate.host, default: 0] += 1
            return true
        }
        var left = running.count
        for candidate in queue {
            guard left > 0 else { break }
            guard running.contains(candidate.id) else { continue }
            left -= 1
            if !takesPlace(candidate), !ending.contains(candidate.id) { plan.stop.insert(candidate.id) }
        }
        // The remaining running downloads were removed from the queue while they ran, but still take places.
        count += left
        var earliest: Int64?
        var burdened: Set<String> = []
        var isAwaited = false
        for candidate in queue where candidate.isWaiting && !running.contains(candidate.id) {
            if let time = candidate.time(after: now.time) {
                if count < settings.parallel { earliest = min(earliest ?? time, time) }
                continue
            }
            guard count < settings.parallel, burdened.count < hosts else {
                isAwaited = true
                break
            }
            if takesPlace(candidate) { plan.start.append(candidate.id) } else { burdened.insert(candidate.host) }
        }
        isAwaited = isAwaited || !burdened.isEmpty
        if isAwaited, settings.leastRate > 0, !(running.isEmpty && plan.start.isEmpty) {
            plan.next = min(plan.next ?? DownloadPace.period, DownloadPace.period)
            let staying = slow.subtracting(ending).subtracting(plan.stop)
            if !staying.isEmpty {
                let taken = running.union(plan.start)
                plan.giveWay = giveWay(
                    queue, staying, taken, coming: ending.count + plan.stop.count, perHost, at: now.time)
            }
        }
        if let earliest {
            let wait = min(max(1, earliest - now.time), Self.longestWait)
            plan.next = min(plan.next ?? wait, wait)
        }
        return plan
    }
}

extension DownloadSchedule {
    /// Returns the slow downloads that give way: one for each waiting download, as long as slow ones remain.
    ///
    /// - Parameters:
    ///   - taken: the downloads that are running or starting.
    ///   - coming: the number of places that will become free anyway.
    ///   - perHost: the number of places that each host takes.
    private func giveWay(
        _ queue: some Sequence<Candidate>, _ slow: Set<DownloadID>, _ taken: Set<DownloadID>, coming: Int,
        _ perHost: [String: Int], at now: Int64
    ) -> Set<DownloadID> {
        var (left, coming, perHost) = (queue.filter { slow.contains($0.id) }, coming, perHost)
        var giving: Set<DownloadID> = []
        for candidate in queue where candidate.isWaiting && !taken.contains(candidate.id) {
            guard !left.isEmpty else { break }
            guard candidate.time(after: now) == nil else { continue }
            let isFree = perHost[candidate.host, default: 0] < settings.perHost
            guard coming == 0 || !isFree else {
                coming -= 1
                continue
            }
            guard let index = left.lastIndex(where: { isFree || $0.host == candidate.host }) else { continue }
            let slow = left.remove(at: index)
            giving.insert(slow.id)
            perHost[slow.host, default: 1] -= 1
            perHost[candidate.host, default: 0] += 1
        }
        return giving
    }
}

extension DownloadSchedule.Candidate {
    /// Returns when the entry may run; nil if it may run now.
    ///
    /// Even after the clock was set back, no entry waits longer than the longest delay.
    fileprivate func time(after now: Int64) -> Int64? {
        notBefore.flatMap { $0 > now && $0 - now <= DownloadRetry.longestWait ? $0 : nil }
    }
}

/// Whether and when to retry a failed download of the queue.
enum DownloadRetry: Hashable, Sendable {
    /// It is not retried until a person acts.
    case no
    /// It is retried after this many seconds, and the attempt is counted.
    case after(Int64)
    /// It is retried shortly, because the vault itself interrupted it.
    case soon

    /// The longest time that an origin may ask for with `Retry-After`, in seconds: a day.
    static let longestWait: Int64 = 86_400

    /// The number of temporary failures after which a response that is not media is no longer retried.
    private static let mostPages: Int64 = 100

    /// Decides whether and when to retry a download.
    ///
    /// - Parameters:
    ///   - attempts: the number of temporary failures before this one.
    ///   - chance: a random number from 0 to 1.
    init(after error: VaultError, attempts: Int64, chance: Double, policy: RetryPolicy) {
        switch error.code {
        // The title was removed, its id is being recomputed, or the vault is closing.
        case .removed, .busy, .closed: self = .soon
        case .unreachable, .notHeld, .changed, .diskFull, .quotaExceeded, .storage, .owned, .invalidResponse:
            self = .after(policy.queueDelay(attempts: attempts, chance: chance))
        // A network's login portal may send a page in place of the media, which is temporary.
        // A feed, however, is no portal's page.
        case .notMedia where attempts < Self.mostPages && error.hint != .followFeed:
            self = .after(policy.queueDelay(attempts: attempts, chance: chance))
        case .refused where Self.isPassing(error.originStatus):
            self = .after(max(Self.wait(askedBy: error), policy.queueDelay(attempts: attempts, chance: chance)))
        default: self = .no
        }
    }

    /// Returns how many seconds the origin asks the vault to wait with `Retry-After`; 0 if it does not ask.
    static func wait(askedBy error: VaultError) -> Int64 {
        guard error.code == .refused, isPassing(error.originStatus) else { return 0 }
        return min(Int64(max(0, error.retryAfter ?? 0)), longestWait)
    }

    /// Returns whether an origin that refuses with a status may grant the same request later.
    static func isPassing(_ status: Int?) -> Bool {
        guard let status else { return false }
        return [408, 425, 429].contains(status) || (500...599).contains(status) && status != 501 && status != 505
    }
}

extension RetryPolicy {
    /// Returns how many seconds a queued download waits after a temporary failure. The limit doubles with each failure;
    /// up to half of it is subtracted at random, so that downloads that failed together do not all retry at once.
    ///
    /// - Parameter attempts: the number of temporary failures before this one.
    func queueDelay(attempts: Int64, chance: Double) -> Int64 {
        let limit = min(longestQueueDelay, firstQueueDelay * (1 << min(attempts, 16)))
        // Without a pause, a download that always fails would run without end.
        return max(1, Int64((limit / .seconds(1)) * (1 - chance / 2)))
    }
}
