import Foundation
import VaultModel

#if canImport(Glibc)
import CProcess
#endif

/// The resources that the system grants this process.
enum SystemRoom {
    /// Raises the limit of open files to a useful number, and adapts to the limits that the system sets.
    ///
    /// This comes before anything else, because even the first thread cannot be started if a descriptor is missing.
    ///
    /// - Throws: ``VaultError`` if something is missing, or a limit is lower than any command needs.
    static func prepare() throws(VaultError) {
        #if os(Linux)
        // On Linux, Dispatch counts its running threads there, and ends the process if it cannot.
        guard FileManager.default.isReadableFile(atPath: "/proc/self/task") else {
            throw VaultError(
                .storage, "/proc is not mounted, and this command needs it to run; mount it (mount -t proc proc /proc)")
        }
        #endif
        SystemLimit.files.raise(to: DescriptorShares.wanted)
        let needs = SystemNeeds(
            processors: ProcessInfo.processInfo.activeProcessorCount, stack: SystemLimit.stack.current)
        for limit in SystemLimit.allCases {
            if let number = number(limit, needs), let refusal = needs.refusal(limit, of: number) { throw refusal }
        }
        #if canImport(Glibc)
        if let number = SystemLimit.addresses.current, let arenas = needs.arenas(underAddresses: number) {
            // If refused, there is less address space, and slightly more of it is needed than was measured.
            _ = cprocess_set_malloc_arenas(Int32(clamping: arenas))
        }
        #endif
    }

    /// Returns how much of a resource the process may have; nil if the system does not report it.
    private static func number(_ limit: SystemLimit, _ needs: SystemNeeds) -> Int? {
        guard limit == .threads, let most = limit.current else { return limit.current }
        #if os(Linux)
        let files = FileManager.default
        let room = ThreadRoom(
            text: { files.contents(atPath: $0).map { String(decoding: $0, as: UTF8.self) } },
            processes: {
                ((try? files.contentsOfDirectory(atPath: "/proc")) ?? []).filter { $0.allSatisfy(\.isNumber) }
            })
        return room.threads(wanted: needs.least(limit), underLimit: most)
        #else
        // Elsewhere, the limit counts processes, and this is one.
        return nil
        #endif
    }
}
