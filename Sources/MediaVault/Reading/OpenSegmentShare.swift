#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif
import Synchronization
import VaultModel

/// How many segments stay open that are not being read: a share of the files that the system lets the process have open.
package final class OpenSegmentShare: Sendable {
    private let count = Atomic(0)
    private let most: @Sendable () -> Int

    /// That of the process, all vaults together.
    package static let ofProcess = OpenSegmentShare { most(ofFiles: filesAllowed) }

    /// - Parameter most: how many there may be, asked each time: the limit of files may be raised meanwhile.
    package init(most: @escaping @Sendable () -> Int) { self.most = most }

    /// The share of so many files. The rest is for clients, origins and what is being read.
    package static func most(ofFiles count: Int) -> Int { OpenFiles.segments(of: count) }

    /// How many may be open now.
    package var allowed: Int { most() }

    /// How many are open.
    package var taken: Int { count.load(ordering: .relaxed) }

    /// Takes the place of one.
    ///
    /// - Returns: whether there was one left.
    func take() -> Bool {
        guard count.add(1, ordering: .relaxed).newValue <= allowed else {
            count.subtract(1, ordering: .relaxed)
            return false
        }
        return true
    }

    func giveBack(_ places: Int) { count.subtract(places, ordering: .relaxed) }

    /// How many files the system lets this process have open.
    private static var filesAllowed: Int {
        var limit = rlimit()
        #if canImport(Glibc)
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        #else
        let resource = RLIMIT_NOFILE
        #endif
        guard unsafe getrlimit(resource, &limit) == 0 else { return 0 }
        return Int(clamping: limit.rlim_cur)
    }
}
