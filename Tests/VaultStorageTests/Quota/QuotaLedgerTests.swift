import Testing
import VaultCrypto
import VaultModel

@testable import VaultStorage

@Suite("The quota ledger counts the space of segment files")
struct QuotaLedgerTests {
    private func id() throws -> SegmentID { try SecureRandom.identifier("segment id") }

    private func ledger(_ limits: StorageLimits, used: Int64 = 0) -> QuotaLedger {
        var ledger = QuotaLedger()
        ledger.limits = limits
        ledger.begin(indexed: used, measured: [:])
        return ledger
    }

    @Test("Bytes count before they are written, and bytes that do not fit are not counted")
    func reserve() throws {
        var ledger = ledger(StorageLimits(maxSize: 1000), used: 400)
        let segment = try id()
        #expect(ledger.reserve(500, for: segment) == nil)
        #expect(ledger.used == 900)
        #expect(ledger.reserve(600, for: segment) == nil)
        #expect(ledger.used == 1000, "the limit must be usable to the last byte")
        #expect(ledger.reserve(601, for: segment) == QuotaLedger.Shortage(size: 1))
        #expect(ledger.used == 1000)
        ledger.settle(segment, size: 450)
        #expect(ledger.used == 850)
        #expect(ledger.remove(segment, size: 450) == 450)
        ledger.settle(segment, size: 450)
        #expect(ledger.used == 400, "a removed file must not count again")
    }

    @Test("A file that was counted with a wrong size counts with the right one at once, even if a reader has it open")
    func corrected() throws {
        var ledger = ledger(StorageLimits(), used: 500)
        let (segment, tracked) = (try id(), try id())
        ledger.pin(segment)
        ledger.correct(segment, from: 300, to: 400)
        #expect(ledger.used == 600)
        ledger.unpin(segment)
        #expect(ledger.used == 600)
        #expect(ledger.remove(segment, size: 400) == 400)
        #expect(ledger.used == 200)
        ledger.track(tracked, size: 50)
        ledger.correct(tracked, from: 0, to: 60)
        #expect(ledger.used == 210)
        ledger.correct(try id(), from: 0, to: 7)
        #expect(ledger.used == 217)
    }

    @Test("A deleted file counts until no reader has it open")
    func removedWhileOpen() throws {
        var ledger = ledger(StorageLimits(maxSize: 1000), used: 1000)
        let (segment, other) = (try id(), try id())
        ledger.pin(segment)
        ledger.pin(segment)
        #expect(ledger.remove(segment, size: 600) == 600)
        #expect(ledger.reserve(1, for: other) == QuotaLedger.Shortage(size: 1))
        ledger.unpin(segment)
        #expect(ledger.used == 1000)
        ledger.unpin(segment)
        #expect(ledger.used == 400)
        #expect(ledger.reserve(1, for: other) == nil)
    }

    @Test("A file is subtracted once, even if it is removed several times")
    func once() throws {
        var ledger = ledger(StorageLimits(), used: 500)
        let segment = try id()
        ledger.track(segment, size: 300)
        #expect(ledger.remove(segment, size: 0) == 300)
        #expect(ledger.remove(segment, size: 0) == 0)
        #expect(ledger.used == 200)
    }

    @Test("The minimum of free disk space is kept, based on the last measurement")
    func free() throws {
        var ledger = ledger(StorageLimits(minFree: 100))
        let segment = try id()
        #expect(ledger.needsMeasurement)
        ledger.measured(free: 350)
        #expect(ledger.reserve(250, for: segment) == nil)
        #expect(ledger.reserve(251, for: segment) == QuotaLedger.Shortage(free: 1))
        ledger.measured(free: 101)
        #expect(ledger.reserve(251, for: segment) == nil)
    }
}
