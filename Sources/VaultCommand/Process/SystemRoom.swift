import Foundation
import VaultModel

#if canImport(Glibc)
import CProcess
#endif

/// What the system lets this process have.
enum SystemRoom {
    /// Asks for as many files as are of use, and keeps to the limits that the system sets.
    ///
    /// It is done before anything else, because even the first thread cannot be started if a descriptor is missing.
    ///
    /// - Throws: ``VaultError`` if something is missing, or a limit lower than what no command can do without.
    static func prepare() throws(VaultError) {
        #if os(Linux)
        // Dispatch counts there which of its threads run, and ends the process where it cannot.
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
            // If refused, there is less room, and a little more of it is needed than was measured.
            _ = cprocess_set_malloc_arenas(Int32(clamping: arenas))
        }
        #endif
    }

    /// Returns how much of something the process may have; nil if the system does not say it.
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
        // There it counts processes, and this is one.
        return nil
        #endif
    }
}
