/// Decides which titles of a list are fetched at the same time. It is a pure value.
///
/// Hosts take turns, so that other hosts are kept busy even if a list begins with many titles from one host.
struct FetchSchedule: Sendable {
    private struct Host: Sendable {
        /// The numbers of the host's waiting titles, with the next one last.
        var waiting: [Int] = []
        var running = 0
    }

    /// The maximum number of titles at a time, overall and per host.
    let (most, mostOfHost): (Int, Int)
    private var hosts: [String: Host] = [:]
    /// The hosts that have titles that may begin. Each host occurs at most once, and the next one comes first.
    private var turns: NameQueue
    private(set) var running = 0

    /// The default maximum number of titles at a time, overall and per host.
    static let usual = (titles: 3, ofHost: 2)
    /// The range in which the user may choose the number of titles at a time.
    static let range = 1...16

    /// - Parameters:
    ///   - hosts: the host of each title, in the order of the list.
    ///   - most: the maximum number of titles at a time, regardless of their hosts; nil for the defaults.
    init(_ hosts: [String], most: Int? = nil) {
        (self.most, mostOfHost) = most.map { ($0, $0) } ?? (Self.usual.titles, Self.usual.ofHost)
        turns = NameQueue()
        for (number, host) in hosts.enumerated() {
            if self.hosts[host] == nil { turns.append(host) }
            self.hosts[host, default: Host()].waiting.append(number)
        }
        for host in self.hosts.keys { self.hosts[host]?.waiting.reverse() }
    }

    /// Returns the number of the title to begin; nil if none may begin.
    mutating func begin() -> Int? {
        guard running < most, let name = turns.next(), var host = hosts[name], let number = host.waiting.popLast()
        else { return nil }
        running += 1
        host.running += 1
        hosts[name] = host
        if !host.waiting.isEmpty, host.running < mostOfHost { turns.append(name) }
        return number
    }

    /// Records that a title is no longer receiving bytes from its host.
    mutating func end(host name: String) {
        guard var host = hosts[name], host.running > 0 else { return }
        running -= 1
        // A host at its limit was not put back into the queue, so it is put back now.
        if host.running == mostOfHost, !host.waiting.isEmpty { turns.append(name) }
        host.running -= 1
        hosts[name] = host
    }

    /// A queue of names.
    private struct NameQueue: Sendable {
        private var names: [String] = []
        private var first = 0

        mutating func append(_ name: String) { names.append(name) }

        mutating func next() -> String? {
            guard first < names.count else { return nil }
            defer {
                first += 1
                // Names already taken are dropped in large batches.
                if first > 1024, first * 2 > names.count {
                    names.removeFirst(first)
                    first = 0
                }
            }
            return names[first]
        }
    }
}
