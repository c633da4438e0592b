import Foundation

/// Whether what a process has in memory may be written to a swap device.
package enum SwapReach {
    /// Whether this process's memory may be.
    package static var isOpen: Bool {
        isOpen(
            swaps: read("/proc/swaps"),
            limits: groups(of: read("/proc/self/cgroup")).map { read("/sys/fs/cgroup\($0)/memory.swap.max") })
    }

    /// Decides by what the system says.
    ///
    /// - Parameters:
    ///   - swaps: `/proc/swaps`: a line of headings, and one for each device.
    ///   - limits: what `memory.swap.max` says of each control group that the process is in.
    static func isOpen(swaps: String, limits: [String]) -> Bool {
        swaps.split(separator: "\n").count > 1
            && !limits.contains { $0.trimmingCharacters(in: .whitespacesAndNewlines) == "0" }
    }

    /// The control groups that a process is in, its own first, as `/proc/self/cgroup` has them (version 2).
    static func groups(of file: String) -> [String] {
        guard let line = file.split(separator: "\n").first(where: { $0.hasPrefix("0::/") }) else { return [] }
        var parts = line.dropFirst(4).split(separator: "/")
        var groups: [String] = []
        while !parts.isEmpty {
            groups.append("/" + parts.joined(separator: "/"))
            parts.removeLast()
        }
        return groups
    }

    /// What a file of the system says; nothing where there is none, as on other systems than Linux.
    private static func read(_ path: String) -> String { (try? String(contentsOfFile: path, encoding: .utf8)) ?? "" }
}
