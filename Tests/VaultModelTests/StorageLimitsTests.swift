import Testing
import VaultModel

@Suite("Storage limits")
struct StorageLimitsTests {
    @Test("An unset limit and 0 are no limit", arguments: [nil, 0, -1] as [Int64?])
    func none(value: Int64?) {
        let limits = StorageLimits(maxSize: value, maxAge: value, minFree: value ?? 0)
        #expect(limits.size == nil && limits.age == nil && limits.free == 0)
    }

    @Test("Bytes are bytes and seconds are seconds: 300 MiB and 90 days")
    func units() {
        let limits = StorageLimits(maxSize: 300 << 20, maxAge: 90 * 86_400)
        #expect(limits.size == 314_572_800)
        #expect(limits.age == 7_776_000)
    }

    @Test("Limits of one run override the others, member by member, and 0 removes one")
    func over() {
        let settings = StorageLimits(maxSize: 100, maxAge: 200, minFree: 300)
        #expect(StorageLimits().over(settings) == settings)
        #expect(StorageLimits(maxSize: 5).over(settings) == StorageLimits(maxSize: 5, maxAge: 200, minFree: 300))
        #expect(StorageLimits(maxSize: 0, minFree: 7).over(settings).size == nil)
        #expect(StorageLimits(maxSize: 0, minFree: 7).over(settings).free == 7)
    }
}
