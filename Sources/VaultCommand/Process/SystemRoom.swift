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
    /// - Throws: ``VaultError`` if a limit is lower than what no command can do without.
    static func prepare() throws(VaultError) {
        SystemLimit.files.raise(to: DescriptorShares.wanted)
        let needs = SystemNeeds(
            processors: ProcessInfo.processInfo.activeProcessorCount, stack: SystemLimit.stack.current)
        for limit in SystemLimit.allCases {
            if let number = limit.current, let refusal = needs.refusal(limit, of: number) { throw refusal }
        }
        #if canImport(Glibc)
        if let number = SystemLimit.addresses.current, let arenas = needs.arenas(underAddresses: number) {
            // If refused, there is less room, and a little more of it is needed than was measured.
            _ = cprocess_set_malloc_arenas(Int32(clamping: arenas))
        }
        #endif
    }
}
