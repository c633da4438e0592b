import Testing
import VaultCrypto
import VaultModel

@testable import VaultStorage

@Suite("The account of segment files")
struct RoomLedgerTests {
    private func id() throws -> SegmentID { try Fresh.identifier("segment id") }

    private func ledger(_ limits: RoomLimits, used: Int64 = 0) -> RoomLedger {
        var ledger = RoomLedger()
        ledger.limits = limits
        ledger.begin(told: used, untold: [:])
        return ledger
    }

    @Test("Bytes count from before they are written, and what does not fit is not counted")
    func reserve() throws {
        var ledger = ledger(RoomLimits(maxSize: 1000), used: 400)
        let segment = try id()
        #expect(ledger.reserve(500, for: segment) == nil)
        #expect(ledger.used == 900)
        #expect(ledger.reserve(600, for: segment) == nil)
        #expect(ledger.used == 1000, "to the last byte")
        #expect(ledger.reserve(601, for: segment) == RoomLedger.Shortage(size: 1))
        #expect(ledger.used == 1000)
        ledger.settle(segment, size: 450)
        #expect(ledger.used == 850)
    }

    @Test("A file that is deleted counts until nobody has it open")
    func lingering() throws {
        var ledger = ledger(RoomLimits(maxSize: 1000), used: 1000)
        let (segment, other) = (try id(), try id())
        ledger.pin(segment)
        ledger.pin(segment)
        #expect(ledger.remove(segment, size: 600) == 600)
        #expect(ledger.reserve(1, for: other) == RoomLedger.Shortage(size: 1))
        ledger.unpin(segment)
        #expect(ledger.used == 1000)
        ledger.unpin(segment)
        #expect(ledger.used == 400)
        #expect(ledger.reserve(1, for: other) == nil)
    }

    @Test("A file is counted off once, however often it is removed")
    func once() throws {
        var ledger = ledger(RoomLimits(), used: 500)
        let segment = try id()
        ledger.track(segment, size: 300)
        #expect(ledger.remove(segment, size: 0) == 300)
        #expect(ledger.remove(segment, size: 0) == 0)
        #expect(ledger.used == 200)
    }

    @Test("What is to be left free on the disk is left, as far as the disk was asked")
    func free() throws {
        var ledger = ledger(RoomLimits(minFree: 100))
        let segment = try id()
        #expect(ledger.mustMeasure)
        ledger.measured(free: 350)
        #expect(ledger.reserve(250, for: segment) == nil)
        #expect(ledger.reserve(251, for: segment) == RoomLedger.Shortage(free: 1))
        ledger.measured(free: 101)
        #expect(ledger.reserve(251, for: segment) == nil)
    }
}
