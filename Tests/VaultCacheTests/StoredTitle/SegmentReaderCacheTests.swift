#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif
import Testing
import VaultModel
import VaultStorage
import VaultTestSupport

@testable import VaultCache

@Suite("Segments stay open for the next range, within the limit of open files")
struct SegmentReaderCacheTests {
    /// Returns readers of `count` new segments.
    private static func readers(_ store: VaultStore, _ count: Int) throws -> [(id: SegmentID, reader: SegmentReader)] {
        let resource = try store.addMedia("film", length: Int64(count) * 1000)
        return try (0..<count).map { number in
            let bytes = [UInt8](repeating: UInt8(number), count: 1000)
            let segment = try #require(try store.store(bytes, at: Int64(number) * 1000, of: resource))
            return (segment.id, try store.segments.reader(of: segment, resource: resource))
        }
    }

    @Test(
        "All resources together keep at most as many readers as the limit allows, and a dropped reader frees its place")
    func bounded() throws {
        let vault = try TemporaryVault()
        let store = try vault.open()
        let readers = try Self.readers(store, 12)
        let limit = SegmentReaderLimit { 5 }
        let (one, other) = (SegmentReaderCache(limit: limit), SegmentReaderCache(limit: limit))
        for (number, reader) in readers.enumerated() {
            (number % 2 == 0 ? one : other).keep(reader.reader, of: reader.id)
        }
        #expect(limit.taken == 5)
        #expect(readers.count { one.reader(of: $0.id) != nil || other.reader(of: $0.id) != nil } == 5)
        // The same reader again takes no second place.
        one.keep(readers[0].reader, of: readers[0].id)
        #expect(limit.taken == 5)
        one.drop(readers[0].id)
        #expect(limit.taken == 4)
        other.keep(readers[11].reader, of: readers[11].id)
        #expect(limit.taken == 5 && other.reader(of: readers[11].id) != nil)
        one.dropIdle(now: .now + .seconds(9))
        other.close()
        #expect(limit.taken == 0)
        other.keep(readers[1].reader, of: readers[1].id)
        #expect(limit.taken == 0 && other.reader(of: readers[1].id) == nil)
    }

    @Test("The share is an eighth of the files that the system allows, and at most 256")
    func share() {
        let shares = [0, 7, 64, 256, 1024, 4096, 1 << 20].map { DescriptorShares.segments(of: $0) }
        #expect(shares == [0, 0, 8, 32, 128, 256, 256])
        var limit = rlimit()
        #if canImport(Glibc)
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        #else
        let resource = RLIMIT_NOFILE
        #endif
        #expect(unsafe getrlimit(resource, &limit) == 0)
        #expect(SegmentReaderLimit.ofProcess.allowed == DescriptorShares.segments(of: Int(clamping: limit.rlim_cur)))
    }

    @Test("The share follows the current limit, not the one at the start of the process")
    func currentShare() async {
        // In a process of its own: a lower limit would stop the files of other tests.
        await #expect(processExitsWith: .success) {
            #if canImport(Glibc)
            let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
            #else
            let resource = RLIMIT_NOFILE
            #endif
            var limit = rlimit()
            try #require(unsafe getrlimit(resource, &limit) == 0)
            _ = SegmentReaderLimit.ofProcess.allowed
            for files in [800, 400] {
                limit.rlim_cur = rlim_t(files)
                try #require(unsafe setrlimit(resource, &limit) == 0)
                try #require(SegmentReaderLimit.ofProcess.allowed == files / 8)
            }
        }
    }
}
