import Testing
import VaultModel

@Suite("Limits of the room")
struct RoomLimitsTests {
    @Test("Nothing said and 0 are no limit (C16)", arguments: [nil, 0, -1] as [Int64?])
    func none(value: Int64?) {
        let limits = RoomLimits(maxSize: value, maxAge: value, minFree: value ?? 0)
        #expect(limits.size == nil && limits.age == nil && limits.free == 0)
    }

    @Test("Bytes are bytes and seconds are seconds: 300 MiB and 90 days (C16, X9)")
    func units() {
        let limits = RoomLimits(maxSize: 300 << 20, maxAge: 90 * 86_400)
        #expect(limits.size == 314_572_800)
        #expect(limits.age == 7_776_000)
    }

    @Test("Limits of one run count before others, member by member, and 0 lifts one")
    func over() {
        let settings = RoomLimits(maxSize: 100, maxAge: 200, minFree: 300)
        #expect(RoomLimits().over(settings) == settings)
        #expect(RoomLimits(maxSize: 5).over(settings) == RoomLimits(maxSize: 5, maxAge: 200, minFree: 300))
        #expect(RoomLimits(maxSize: 0, minFree: 7).over(settings).size == nil)
        #expect(RoomLimits(maxSize: 0, minFree: 7).over(settings).free == 7)
    }
}
