import Testing

@testable import MediaVault
@testable import VaultCache
@testable import VaultStorage

@Suite("Evictions are reported in runs")
struct EvictionNoticeTests {
    private let start = ContinuousClock.now

    @Test("Evictions in close succession are reported once, five seconds after the last")
    func run() {
        var notice = EvictionNotice()
        var gone = EvictionCounters()
        #expect(notice.look(gone, now: start) == nil)
        for second in 1...4 {
            gone += EvictionCounters(segments: 1, bytes: 10)
            #expect(notice.look(gone, now: start + .seconds(second)) == nil)
        }
        #expect(notice.look(gone, now: start + .seconds(8)) == nil)
        #expect(notice.look(gone, now: start + .seconds(9)) == .evicted(titles: 0, segments: 4, bytes: 40))
        #expect(notice.look(gone, now: start + .seconds(90)) == nil)
        gone += EvictionCounters(resources: 1, segments: 2, bytes: 5)
        #expect(notice.end(gone) == .evicted(titles: 1, segments: 2, bytes: 5))
        #expect(notice.end(gone) == nil && notice.look(gone, now: start + .seconds(99)) == nil)
    }

    @Test("A run without a pause is reported once a minute, and no eviction is reported twice")
    func long() {
        var notice = EvictionNotice()
        var gone = EvictionCounters()
        var told: [Int: StoreEvent] = [:]
        for second in 0..<130 {
            gone += EvictionCounters(segments: 1, bytes: 1)
            told[second] = notice.look(gone, now: start + .seconds(second))
        }
        let event = StoreEvent.evicted(titles: 0, segments: 61, bytes: 61)
        #expect(told == [60: event, 121: event])
    }
}
