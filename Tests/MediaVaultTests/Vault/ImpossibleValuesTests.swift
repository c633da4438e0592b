import Foundation
import OriginTestSupport
import Testing
import VaultModel
import VaultStorage

@testable import MediaVault

@Suite("An impossible value in a plain column affects at most its own title", .timeLimit(.minutes(10)))
struct ImpossibleValuesTests {
    /// An operation on a vault, which refuses only with a ``VaultError``.
    private struct Act: Sendable {
        let name: String
        let body: @Sendable (PlantedVault, Vault) async throws -> Void

        init(_ name: String, _ body: @escaping @Sendable (PlantedVault, Vault) async throws -> Void) {
            (self.name, self.body) = (name, body)
        }
    }

    private static let looking: [Act] = [
        Act("list") { _, vault in for try await _ in vault.titles.resources() {} },
        Act("info") { planted, vault in _ = try await vault.titles.summary(of: planted.title) },
        Act("status") { _, vault in _ = try await vault.status() },
        Act("play") { planted, vault in try await planted.read(planted.title, in: vault, "play") },
        Act("verify") { _, vault in for try await _ in vault.checks.verify() {} },
        Act("verify --sample") { _, vault in for try await _ in vault.checks.verify(VerifyOptions(sample: 100)) {} },
        Act("keys list") { _, vault in _ = try await vault.keys.report() },
        Act("audit") { _, vault in _ = try await vault.keys.audit() },
    ]

    private static let changing: [Act] = [
        Act("fetch") { planted, vault in for try await _ in vault.download(planted.title) {} },
        Act("prune --max-age") { _, vault in _ = try await vault.space.prune(StorageLimits(maxAge: 1)) },
        Act("prune --max-age, none") { _, vault in _ = try await vault.space.prune(StorageLimits(maxAge: .max)) },
        Act("prune --max-size") { _, vault in _ = try await vault.space.prune(StorageLimits(maxSize: 350_000)) },
        Act("upkeep") { _, vault in await vault.runPeriodicWork(now: .now + .seconds(600)) },
        Act("verify --repair") { _, vault in for try await _ in vault.checks.verify(VerifyOptions(repairs: true)) {} },
        Act("catalog backup") { _, vault in try vault.store.catalogBackup.write() },
        Act("keys backup") { planted, vault in
            try await vault.keys.backUp(
                to: planted.backup + ".again", for: NewSlot(PlantedVault.passphrase, strength: .least))
        },
        Act("keys rotate") { _, vault in _ = try await vault.keys.rotate() },
        Act("keys rewrap") { _, vault in for try await _ in vault.keys.rewrap() {} },
        Act("keys retire") { _, vault in _ = try await vault.keys.retire(1) },
        Act("keys reseal") { _, vault in for try await _ in vault.keys.reseal() {} },
        Act("keys change-locator") { _, vault in _ = try await vault.keys.changeLocator() },
        Act("keys rotate --root") { planted, vault in _ = try await vault.keys.rotateRoot(unlockedBy: [planted.unlock])
        },
        Act("pin") { planted, vault in try await vault.titles.pin(planted.title) },
        Act("unpin") { planted, vault in try await vault.titles.unpin(planted.title) },
    ]

    /// Plants each value that the column accepts in a copy of a vault, and runs the body, which closes the copy.
    ///
    /// - Parameter enough: The number of values, of which there are more only if `MEDIAVAULT_VALUES` is `all`.
    private func forValues(
        of column: PlantedVault.Column, enough: Int, _ body: (PlantedVault, Vault, String) async throws -> Void
    ) async throws {
        let isAll = ProcessInfo.processInfo.environment["MEDIAVAULT_VALUES"] == "all"
        let template = try await PlantedVault()
        var taken = 0
        for value in column.order where isAll || taken < enough {
            let planted = try template.copy()
            let vault = try await planted.open()
            guard try await planted.plant(column, value, in: vault) else {
                await vault.close()
                continue
            }
            taken += 1
            try await body(planted, vault, value)
        }
        #expect(taken >= 3, "premise: values were planted")
    }

    /// Opens the vault and runs each operation, after planting the value again.
    private func perform(
        _ acts: [Act], _ access: VaultOptions.Access, on planted: PlantedVault, _ column: PlantedVault.Column,
        _ value: String
    ) async throws {
        let vault: Vault
        do {
            vault = try await planted.open(access)
        } catch let error as VaultError {
            #expect(column.isOfVault, "\(column) = \(value), open: \(error)")
            #expect([.integrity, .olderKeyring, .foreignKeyring].contains(error.code))
            return
        }
        for act in acts {
            try await planted.plant(column, value, in: vault)
            do {
                try await act.body(planted, vault)
            } catch is VaultError {
            } catch {
                Issue.record(error, "\(column) = \(value), \(act.name)")
            }
            await planted.expect(planted.other, in: vault, "\(column) = \(value), after \(act.name)")
        }
        await vault.close()
    }

    @Test("No operation ends the process, and other titles still play", arguments: PlantedVault.Column.all)
    func everyAct(column: PlantedVault.Column) async throws {
        try await forValues(of: column, enough: 4) { planted, vault, value in
            await vault.close()
            try await perform(Self.looking, .reader, on: planted, column, value)
            try await perform(Self.changing, .owner, on: planted, column, value)
        }
    }

    @Test(
        "The affected title can be removed, and other titles can be removed and shredded",
        arguments: PlantedVault.Column.all.filter { !$0.isOfVault })
    func removal(column: PlantedVault.Column) async throws {
        try await forValues(of: column, enough: 3) { planted, vault, value in
            let what: Comment = "\(column) = \(value)"
            do {
                try await vault.titles.remove(planted.removed)
                let report = try await vault.keys.shred([planted.shredded])
                #expect(report.titles.allSatisfy { $0.error == nil }, what)
                try await vault.titles.remove(planted.title)
            } catch {
                Issue.record(error, what)
            }
            await planted.expect(planted.other, in: vault, what)
            await vault.close()
            let again = try await planted.open()
            #expect(try await again.titles.summary(of: planted.title) == nil, what)
            await planted.expect(planted.other, in: again, what)
            await again.close()
        }
    }

    @Test(
        "A rebuilt index has no such value even if the backup has it, and the other titles play",
        arguments: PlantedVault.Column.all.filter { !$0.isOfVault })
    func rebuild(column: PlantedVault.Column) async throws {
        try await forValues(of: column, enough: 3) { planted, vault, value in
            let what: Comment = "\(column) = \(value)"
            try vault.store.catalogBackup.write()
            await vault.close()
            _ = try await Vault.rebuildIndex(planted.place, unlock: planted.unlock, evenIfSound: true)
            let rebuilt = try await planted.open()
            await planted.expect(planted.other, in: rebuilt, what)
            // Values that do not concern keys are corrected, or derived from the files.
            if ["resource.class", "resource.accessed"].contains(column.testDescription) || column.table == "segment" {
                #expect(try await rebuilt.titles.summary(of: planted.title)?.bytes == PlantedVault.length, what)
            }
            let report = try await VaultFixture.report(of: rebuilt.checks.verify())
            #expect(report.isSound, what)
            await rebuilt.close()
        }
    }

    @Test(
        "A rebuilt index has a valid first row even if the backup has none",
        arguments: PlantedVault.Column.all.filter(\.isOfVault) + [PlantedVault.Column(table: "vault", name: "settings")]
    )
    func rebuildOfVault(column: PlantedVault.Column) async throws {
        let template = try await PlantedVault()
        // A revision this high is possible: an older keyring looks the same.
        let values = column.values.filter { column.name != "keyringRevision" || $0 != "4294967296" }
        for value in values + (column.name == "locator" ? ["50"] : []) {
            let planted = try template.copy()
            try await expectRebuilt(planted, "\(column) = \(value)") { vault in
                let isTaken = try await planted.plant(column, value, in: vault)
                #expect(isTaken, "premise: the value was planted")
            }
        }
    }

    @Test("A rebuilt index has no row of another vault even if the backup has one")
    func rebuildOfTwoVaults() async throws {
        let planted = try await PlantedVault()
        try await expectRebuilt(planted, "two rows") { _ in
            try await planted.write("INSERT INTO vault SELECT zeroblob(16), 1, 1, settings FROM vault")
        }
    }

    @Test(
        "If the settings were lost, or older ones came back, the next reseal still renews every key",
        arguments: [true, false])
    func resealAfterLostSettings(areLost: Bool) async throws {
        let planted = try await PlantedVault()
        let vault = try await planted.open()
        for try await _ in vault.keys.reseal() {}
        try await planted.write("UPDATE vault SET settings = zeroblob(60)")
        for name in areLost ? ["catalog.backup", "catalog.backup.1"] : [] {
            try? FileManager.default.removeItem(atPath: planted.place.folder + "/" + name)
        }
        try vault.store.catalogBackup.write()
        await vault.close()
        let report = try await Vault.rebuildIndex(planted.place, unlock: planted.unlock, evenIfSound: true)
        #expect(report.areSettingsLost == areLost, "premise: the settings were lost")
        let before = try planted.segmentNames
        let rebuilt = try await planted.open()
        for try await _ in rebuilt.keys.reseal() {}
        await planted.expect(planted.other, in: rebuilt, "the other title plays")
        await rebuilt.close()
        #expect(try !before.isEmpty && before.isDisjoint(with: planted.segmentNames))
    }

    /// Changes the index while it is open, so that the backup has the change, then rebuilds and checks it.
    private func expectRebuilt(
        _ planted: PlantedVault, _ what: Comment, _ plant: (Vault) async throws -> Void
    ) async throws {
        let vault = try await planted.open()
        try await plant(vault)
        try vault.store.catalogBackup.write()
        await vault.close()
        do {
            _ = try await Vault.rebuildIndex(planted.place, unlock: planted.unlock, evenIfSound: true)
            let rebuilt = try await planted.open()
            await planted.expect(planted.other, in: rebuilt, what)
            try await rebuilt.settings.setLimits(StorageLimits(maxSize: 1 << 30))
            try await rebuilt.titles.remove(planted.removed)
            let report = try await VaultFixture.report(of: rebuilt.checks.verify())
            #expect(report.isSound, what)
            await rebuilt.close()
        } catch {
            Issue.record(error, what)
        }
    }

    @Test("A limit counts only segments with possible values", arguments: ["4503599627370496", "9223372036846387199"])
    func limit(length: String) async throws {
        let planted = try await PlantedVault()
        let vault = try await planted.open()
        try await vault.titles.pin(planted.title)
        let column = PlantedVault.Column(table: "segment", name: "length")
        #expect(try await planted.plant(column, length, in: vault))
        try await vault.settings.setLimits(StorageLimits(maxSize: 1 << 30))
        #expect(try await vault.space.prune(StorageLimits(maxSize: 1 << 30)).bytes == 0)
        await vault.close()
    }

    @Test(
        "A keyring backup can be restored despite the impossible value",
        arguments: PlantedVault.Column.all.filter { ["vault", "generation", "resourceKey"].contains($0.table) })
    func restore(column: PlantedVault.Column) async throws {
        try await forValues(of: column, enough: 3) { planted, vault, value in
            await vault.close()
            do {
                _ = try await KeyAdministration.restore(
                    planted.place, from: planted.backup, unlock: PlantedVault.passphrase,
                    adding: NewSlot(planted.unlock),
                    force: true)
                guard !column.isOfVault else { return }
                let again = try await planted.open()
                await planted.expect(planted.other, in: again, "\(column) = \(value)")
                await again.close()
            } catch let error as VaultError where column.isOfVault {
                #expect([.integrity, .olderKeyring].contains(error.code), "\(column) = \(value)")
            } catch {
                Issue.record(error, "\(column) = \(value)")
            }
        }
    }
}
