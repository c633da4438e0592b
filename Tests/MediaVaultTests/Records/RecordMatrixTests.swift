import Foundation
import SeededRandom
import Testing
import VaultModel

@testable import MediaVault
@testable import VaultStorage

/// Tests every kind of row, every column and every damage, in the index and in its backup, before every act.
///
/// By day, always the same sample of the cells is tried. For nightly runs, and for changes to the code under test,
/// `MEDIAVAULT_MATRIX` sets the number of cells, or `all`. `MEDIAVAULT_MATRIX_SEED` repeats the sample with that seed.
/// `MEDIAVAULT_MATRIX_ONLY` selects the cells whose names contain one of several parts, separated by |.
@Suite("Whatever was good in the index or in its backup outlives every act", .timeLimit(.minutes(120)))
struct RecordMatrixTests {
    @Test("Every kind has rows, and every column of it is damaged")
    func kinds() async throws {
        let template = try await RecordVault.make()
        for kind in RecordKind.all {
            #expect(try template.rowCount(of: kind) > 0, "no row of \(kind.name) was written")
            #expect(!kind.columns.isEmpty)
        }
        for table in SealedTable.all { #expect(RecordKind.all.contains { $0.name == table.name }) }
    }

    @Test("A null in no column of the index keeps the catalog from being written")
    func nulls() async throws {
        let template = try await RecordVault.make()
        let whole = try template.contents().index.opened
        var count = 0
        // Without the settings nothing is written at all.
        for kind in RecordKind.all where kind.name != "vault" {
            for column in kind.columns {
                let copy = try template.copy()
                guard try copy.inflict(.null, on: 0, column, of: kind, in: "index.sqlite") else { continue }
                count += 1
                let vault = try await copy.open()
                vault.store.noteChange()
                #expect(throws: Never.self, "\(kind.name).\(column.name)") { try vault.store.catalogBackup.write() }
                await vault.close()
                #expect(try copy.contents().backup.opened == whole, "\(kind.name).\(column.name)")
            }
        }
        #expect(count >= 20, "nulls were written")
    }

    @Test("No damage to a row costs what opened before, and nothing is called sound that is not")
    func matrix() async throws {
        let environment = ProcessInfo.processInfo.environment
        let size = environment["MEDIAVAULT_MATRIX"]
        let isAll = size == "all"
        let wanted = try #require(isAll ? 20_000 : Int(size ?? "500"))
        let only = environment["MEDIAVAULT_MATRIX_ONLY"]?.split(separator: "|")
        let seed =
            environment["MEDIAVAULT_MATRIX_SEED"].flatMap { UInt64($0) } ?? (size == nil ? 1 : .random(in: 0 ... .max))
        var random = SeededGenerator(seed: seed)
        let template = try await RecordVault.make()
        let cells = try RecordCell.all(of: template).filter { cell in
            only?.contains { "\(cell)".contains($0) } ?? true
        }
        .shuffled(using: &random)
        let begin = clock()
        // Some cells cannot exist, so the sample is a little larger than it needs to be.
        let batches = RecordBatch.make(of: cells.prefix(isAll ? cells.count : wanted * 3 / 2)).shuffled(using: &random)
        let (count, complaints) = try await Self.run(batches, on: template, wanted: isAll ? cells.count : wanted)
        let seconds = Double(clock() - begin) / Double(CLOCKS_PER_SEC)
        print("RecordMatrixTests.matrix: seed \(seed), \(count) cells, \(Int(seconds)) s of processor time")
        if only == nil { #expect(count >= wanted, "enough cells are possible") }

        for complaint in complaints.prefix(5000) { print("RecordMatrixTests.matrix: \(complaint)") }
        #expect(complaints.count == 0, "seed \(seed): what was good was lost, or called sound")
    }

    /// Runs batches, a few at a time, until enough of the cells could exist.
    private static func run(
        _ batches: [RecordBatch], on template: RecordVault, wanted: Int
    ) async throws -> (count: Int, complaints: [RecordBatch.Complaint]) {
        var (count, complaints): (Int, [RecordBatch.Complaint]) = (0, [])
        try await withThrowingTaskGroup(of: (count: Int, complaints: [RecordBatch.Complaint]).self) { group in
            var waiting = batches[...]
            func add() {
                guard count < wanted, let batch = waiting.popFirst() else { return }
                // On a thread of the pool, where calls may block.
                group.addTask(executorPreference: BlockingPool.shared) { try await batch.run(on: template) }
            }
            for _ in 0..<4 { add() }
            while let result = try await group.next() {
                count += result.count
                complaints += result.complaints
                add()
            }
        }
        return (count, complaints)
    }
}
