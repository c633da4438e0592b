import VaultModel
import VaultStorage

/// Decides which downloads of the queue run: a value.
struct DownloadSchedule: Sendable {
    /// An entry of the queue, as far as it matters here.
    struct Candidate: Hashable, Sendable {
        let id: DownloadID
        /// The host and port of its URL.
        let host: String
        /// Whether it is waiting, neither paused nor failed.
        let isWaiting: Bool
        /// The time of its next attempt, in seconds since 1970; nil if it may run at once.
        let notBefore: Int64?
    }

    /// A moment, as clocks on the wall show it.
    struct Moment: Hashable, Sendable {
        /// Seconds since 1970.
        let time: Int64
        /// Seconds since the last midnight, in local time.
        let secondOfDay: Int
    }

    /// What to do now.
    struct Plan: Hashable, Sendable {
        /// The downloads to start, in this order.
        var start: [DownloadID] = []
        /// The running downloads to stop; they wait again.
        var stop: Set<DownloadID> = []
        /// The running downloads to stop because they are too slow and others wait; they are put behind.
        var giveWay: Set<DownloadID> = []
        /// After how many seconds to decide again, at least 1; nil if only a change of the queue can matter.
        var next: Int64?
    }

    let settings: DownloadSettings

    /// The longest time until the next decision while something waits for a time: clocks may be set.
    private static let longestWait: Int64 = 600

    /// Decides what runs.
    ///
    /// - Parameters:
    ///   - queue: the entries in the order in which they should run. It is read only as far as needed.
    ///   - hosts: the number of hosts that it has, if that is known: once all are burdened, nothing more can begin.
    ///   - running: the entries that run or are ending.
    ///   - ending: those of them that were told to stop.
    ///   - slow: those of them that are below the least rate.
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
        // What runs keeps its place before what waits, whatever their order. What is ending still burdens its host.
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
        // Entries that were removed from the queue while they run.
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
    /// Returns which slow downloads give their places to others: one for each that waits, as long as there are any.
    ///
    /// - Parameters:
    ///   - taken: those that run or start.
    ///   - coming: the number of places that others leave anyway.
    ///   - perHost: how many places each host takes.
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
    /// Returns when it may run; nil if it may run now.
    ///
    /// A clock that was set back makes nothing wait for longer than the longest delay.
    fileprivate func time(after now: Int64) -> Int64? {
        notBefore.flatMap { $0 > now && $0 - now <= DownloadRetry.longestWait ? $0 : nil }
    }
}

/// What becomes of a download of the queue that failed.
enum DownloadRetry: Hashable, Sendable {
    /// Nothing but a person can help.
    case no
    /// It is tried again after some seconds; its attempts are counted.
    case after(Int64)
    /// It is tried again in a moment, because the vault itself interrupted it.
    case soon

    /// The longest time that an origin may ask for with `Retry-After`, in seconds: a day.
    static let longestWait: Int64 = 86_400

    /// How often in a row what is no media is tried again: for about a day.
    private static let mostPages: Int64 = 100

    /// Decides what becomes of a download.
    ///
    /// - Parameters:
    ///   - attempts: how often it failed for now before.
    ///   - chance: a random number from 0 to 1.
    init(after error: VaultError, attempts: Int64, chance: Double, policy: RetryPolicy) {
        switch error.code {
        // The title was removed, or its id is being recomputed; the vault closes.
        case .removed, .busy, .closed: self = .soon
        case .unreachable, .notHeld, .changed, .diskFull, .quotaExceeded, .storage, .owned, .invalidResponse:
            self = .after(policy.queueDelay(attempts: attempts, chance: chance))
        // A page in place of media may be that of a network's portal, which goes as it came.
        case .notMedia where attempts < Self.mostPages:
            self = .after(policy.queueDelay(attempts: attempts, chance: chance))
        case .refused where Self.isPassing(error.originStatus):
            self = .after(max(Self.wait(askedBy: error), policy.queueDelay(attempts: attempts, chance: chance)))
        default: self = .no
        }
    }

    /// Returns the seconds for which an origin asks with `Retry-After` not to be asked again; 0 if it does not.
    static func wait(askedBy error: VaultError) -> Int64 {
        guard error.code == .refused, isPassing(error.originStatus) else { return 0 }
        return min(Int64(max(0, error.retryAfter ?? 0)), longestWait)
    }

    /// Whether an origin that refuses with a status may grant the same request later.
    static func isPassing(_ status: Int?) -> Bool {
        guard let status else { return false }
        return [408, 425, 429].contains(status) || (500...599).contains(status) && status != 501 && status != 505
    }
}

extension RetryPolicy {
    /// Returns how long a download of the queue waits after it failed for now, in seconds: a limit that doubles, less
    /// up to half of it by chance, so that downloads that failed together do not all come back in one instant.
    ///
    /// - Parameter attempts: how often it failed before.
    func queueDelay(attempts: Int64, chance: Double) -> Int64 {
        let limit = min(longestQueueDelay, firstQueueDelay * (1 << min(attempts, 16)))
        return Int64((limit / .seconds(1)) * (1 - chance / 2))
    }
}
