/// The number of threads that the system allows this process.
///
/// The limit on a user counts all of the user's threads, and the limit on a control group counts all of the group's
/// threads. A limit that the system does not report is treated as no limit.
package struct ThreadRoom {
    /// Returns a system file's text; nil if the file cannot be read.
    private let text: (_ path: String) -> String?
    /// Returns the ids of all processes.
    private let processes: () -> [String]

    package init(text: @escaping (_ path: String) -> String?, processes: @escaping () -> [String]) {
        (self.text, self.processes) = (text, processes)
    }

    /// Returns the number of threads that this process may have, including the one that it already has.
    ///
    /// - Parameters:
    ///   - wanted: the number of threads that the process needs. If they fit beside all of the system's threads, the
    ///     user's threads are not counted.
    ///   - limit: the limit on the number of the user's threads.
    package func threads(wanted: Int, underLimit limit: Int) -> Int {
        min(ofUser(limit, wanted), ofGroups)
    }

    // MARK: The user

    private func ofUser(_ limit: Int, _ wanted: Int) -> Int {
        guard limit < .max, let own = text("/proc/self/status"), let user = Self.numbers(own, "Uid").first else {
            return .max
        }
        guard let map = text("/proc/self/uid_map"), let outside = Self.outside(user, map), outside != 0 else {
            return .max
        }
        // The system counts per user namespace. In any but the initial one, the number of other threads is unknown.
        guard map.split(whereSeparator: \.isWhitespace) == ["0", "0", "4294967295"] else { return limit }
        guard !Self.mayPassLimits(own) else { return .max }
        if let all = threadsOfSystem, limit - all >= wanted { return limit - all }
        let used = processes().compactMap { text("/proc/\($0)/status") }.reduce(0) { sum, status in
            Self.numbers(status, "Uid").first == user ? sum + (Self.numbers(status, "Threads").first ?? 1) : sum
        }
        return Self.room(limit, used)
    }

    /// Returns a user's id outside the user namespace.
    ///
    /// - Parameter map: the text of `uid_map`. Its lines have the first id inside, the first id outside, and a count.
    private static func outside(_ user: Int, _ map: String) -> Int? {
        map.split(separator: "\n").lazy.map { $0.split { $0.isWhitespace }.compactMap(count) }.compactMap { line in
            line.count == 3 && user >= line[0] && user - line[0] < line[2] ? line[1] + user - line[0] : nil
        }.first
    }

    /// Returns whether a process may exceed limits (`CAP_SYS_ADMIN` is bit 21, `CAP_SYS_RESOURCE` bit 24).
    private static func mayPassLimits(_ status: String) -> Bool {
        let rights = value(status, "CapEff").flatMap { UInt64($0, radix: 16) } ?? 0
        return rights & (1 << 21 | 1 << 24) != 0
    }

    /// The number of threads on the whole system, from the fourth word of `/proc/loadavg`, which is `running/all`.
    private var threadsOfSystem: Int? {
        text("/proc/loadavg")?.split(separator: " ").dropFirst(3).first?.split(separator: "/").last.flatMap(Self.count)
    }

    // MARK: Control groups

    /// The smallest number of threads that the process's control group, or any group that contains it, still allows.
    private var ofGroups: Int {
        (text("/proc/self/cgroup") ?? "").split(separator: "\n").flatMap(Self.folders).reduce(.max) { room, folder in
            guard let most = number("\(folder)/pids.max"), let used = number("\(folder)/pids.current")
            else { return room }
            return min(room, Self.room(most, used))
        }
    }

    /// Returns the folders of a control group and of the groups that contain it, from a line of `/proc/self/cgroup`;
    /// none if the group does not limit threads.
    ///
    /// In a container, the line may be a path on the host, of which only the last part, or nothing, exists inside.
    private static func folders(of line: Substring) -> [String] {
        let parts = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, parts[1].isEmpty || parts[1].split(separator: ",").contains("pids") else { return [] }
        var folder = parts[1].isEmpty ? "/sys/fs/cgroup" : "/sys/fs/cgroup/pids"
        return [folder]
            + parts[2].split(separator: "/").map { name in
                folder += "/\(name)"
                return folder
            }
    }

    private func number(_ path: String) -> Int? {
        text(path).flatMap { Self.count($0.prefix { !$0.isWhitespace }) }
    }

    // MARK: Shared helpers

    private static func room(_ most: Int, _ used: Int) -> Int { max(0, most - used) + 1 }

    /// Returns the value that follows a name in text with lines such as `Threads:	12`.
    private static func value(_ text: String, _ name: String) -> Substring? {
        text.split(separator: "\n").first { $0.hasPrefix(name + ":") }?.dropFirst(name.count + 1)
            .drop { $0.isWhitespace }
    }

    private static func numbers(_ text: String, _ name: String) -> [Int] {
        value(text, name)?.split { $0.isWhitespace }.compactMap { count($0) } ?? []
    }

    /// Parses a user id or a number of threads; both have at most 32 bits.
    private static func count(_ text: Substring) -> Int? {
        Int(text).flatMap { (0...Int(UInt32.max)).contains($0) ? $0 : nil }
    }
}
