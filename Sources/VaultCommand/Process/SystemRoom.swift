import Foundation
import VaultModel

#if canImport(Glibc)
import CProcess
#endif

/// The resources that the system grants this process.
enum SystemRoom {
    /// Raises the limit on open files to a useful number, and adapts to the limits that the system sets.
    ///
    /// This must be called before anything else, because not even the first thread can be started without a free
    /// descriptor.
    ///
    /// - Throws: ``VaultError`` if `/proc` is needed but not mounted, or if a limit is lower than what any command
    ///   needs.
    static func prepare() throws(VaultError) {
        #if os(Linux)
        // On Linux, Dispatch counts its running threads in this folder, and ends the process if it cannot.
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
            // If this is refused, slightly more address space is needed than was measured, although little is
            // available.
            _ = cprocess_set_malloc_arenas(Int32(clamping: arenas))
        }
        #endif
    }

    /// Returns how much of a resource the process may use; nil if the system does not report this.
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
        // On other systems, the limit counts processes rather than threads, and this is only one process.
        return nil
        #endif
    }
}
