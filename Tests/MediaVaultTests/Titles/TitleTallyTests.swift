import SeededRandom
import Testing
import VaultModel

@testable import MediaVault

@Suite("The progress of a title")
struct TitleTallyTests {
    @Test("The total is what the bit rates promise, then what typical parts are, then exact")
    func estimate() {
        var tally = TitleTally(count: 20, expected: 9000)
        #expect(tally.held == 0 && tally.total == 9000)
        for part in 0..<7 { tally.finish(part, length: 100) }
        #expect(tally.held == 700 && tally.total == 9000)
        tally.note(7, held: 40, length: 100)
        #expect(tally.held == 740 && tally.total == 2000, "eight sizes are typical")
        for part in 7..<20 { tally.finish(part, length: 100) }
        #expect(tally.held == 2000 && tally.total == 2000 && tally.done == 20)
    }

    @Test("Without bit rates the first sizes count, and before them nothing is known")
    func unknown() {
        var tally = TitleTally(count: 4)
        #expect(tally.total == nil)
        tally.note(0, held: 10, length: nil)
        #expect(tally.total == nil && tally.held == 10)
        tally.note(0, held: 10, length: 50)
        #expect(tally.total == 200)
    }

    @Test("An empty title is complete, and a part that is given up never is")
    func ends() {
        #expect(TitleTally(count: 0, expected: 5).total == 0)
        var tally = TitleTally(count: 2)
        tally.note(0, held: 5, length: 9)
        tally.give(up: 0)
        tally.finish(1, length: 7)
        #expect(tally.held == 7 && (tally.total ?? 0) > 7)
    }

    @Test("Whatever arrives, no more is held than the total, and both are equal only at the end")
    func bounds() {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededGenerator(seed: seed)
        for _ in 0..<200 {
            let count = Int.random(in: 1...40, using: &random)
            var tally = TitleTally(count: count, expected: Bool.random(using: &random) ? 1000 : nil)
            for part in 0..<count {
                let length = Int64.random(in: 0...1000, using: &random)
                tally.note(part, held: length / 2, length: Bool.random(using: &random) ? length : nil)
                if let total = tally.total { #expect(tally.held < total, "seed \(seed)") }
                tally.finish(part, length: length)
            }
            #expect(tally.held == tally.total, "seed \(seed)")
        }
    }

    @Test("Bit rates and a duration promise a size; nonsense promises none")
    func rates() {
        #expect(TitleTally.size(atRates: [800_000, 200_000], for: .seconds(8)) == 1_000_000)
        #expect(TitleTally.size(atRates: [], for: .seconds(8)) == nil)
        #expect(TitleTally.size(atRates: [8], for: nil) == nil)
        #expect(TitleTally.size(atRates: [-5], for: .seconds(8)) == nil)
        #expect(TitleTally.size(atRates: [.max, .max], for: .seconds(Int64.max)) == nil)
    }

    @Test("Other parts are fetched after one is refused, but not after many, nor after the network failed")
    func failures() {
        var refused = VaultError(.refused, "a.example refused /1.ts")
        refused.originStatus = 404
        var failures = TitleFailures()
        for number in 1...TitleFailures.most {
            let goesOn = failures.note(refused)
            #expect(goesOn == (number < TitleFailures.most))
        }
        var busy = refused
        busy.originStatus = 503
        for error in [busy, VaultError(.unreachable, "away"), VaultError(.diskFull, "full")] {
            var failures = TitleFailures()
            let goesOn = failures.note(error)
            #expect(!goesOn)
        }
        #expect(TitleFailures().errors.isEmpty)
    }
}
