import Foundation
import Testing
import VaultCrypto
import VaultModel
import VaultTestSupport

@testable import VaultStorage

@Suite("An audit log line not signed with the vault's own key is ignored")
struct ForgedReceiptTests {
    private let vault: TemporaryVault

    init() throws { vault = try TemporaryVault() }

    private var path: String { vault.folder + "/audit.log" }
    private static let largest = JSONValue.largestInteger

    /// How the line is forged.
    enum Forgery: CaseIterable {
        /// One of the vault's own lines, with another number.
        case changed
        /// A line that is signed with another vault's key.
        case signed
    }

    private func forge(_ forgery: Forgery, _ sequence: Int64) throws {
        let log = FileManager.default.contents(atPath: path) ?? Data()
        let last = try #require(Array(log).split(separator: 0x0A).map(Array.init).last)
        let line: [UInt8]
        switch forgery {
        case .changed:
            let text = String(decoding: last, as: UTF8.self)
            line = Array(text.replacing(/"sequence":[0-9]+/, with: "\"sequence\":\(sequence)").utf8)
            #expect(line != last && ReceiptLine(line)?.isGenuine == false)
        case .signed:
            let receipt = Receipt(
                sequence: sequence, time: 1, act: .rotate, outcome: .done, generation: 1, subject: nil, resources: nil)
            line = try KeyringReceipts(TestKeyring.make()).sign(receipt, previous: ReceiptLine.hash(of: last))
            #expect(ReceiptLine(line)?.isGenuine == true)
        }
        try (log + Data(line) + Data([0x0A])).write(to: URL(filePath: path))
    }

    @Test(
        "After a forged line every operation succeeds, the keyring opens again, and numbers continue",
        arguments: Forgery.allCases)
    func acts(_ forgery: Forgery) throws {
        let store = try vault.open()
        let log = vault.log(of: store)
        try log.note(.rewrap)
        try forge(forgery, Self.largest)
        #expect(try log.lastSequence() == 1)
        #expect(try log.note(.rewrap).sequence == 2)
        try forge(forgery, Self.largest - 1)
        #expect(try Generations(store).add(noting: log) == 2)
        try forge(forgery, Self.largest)
        try store.close()
        let keyring = try TemporaryVault.unlock(vault.keyringFile)
        #expect(KeyringReceipts(keyring).sequence == 3 && keyring.activeGenerations == [1, 2])
        let report = try AuditLog.report(on: vault.folder, keyring: keyring)
        let kind: AuditFault.Kind = forgery == .changed ? .signature : .stranger
        #expect(report.faults.filter { $0.kind == kind }.map(\.line) == [2, 4, 6])
        // The line after a forged one is out of sequence, and has no other fault.
        #expect(report.faults.filter { $0.kind != kind }.allSatisfy { $0.kind == .sequence })
    }

    @Test("Restoring and destroying the keyring ignore the number of a forged line", arguments: Forgery.allCases)
    func withoutStore(_ forgery: Forgery) throws {
        var store = try vault.open()
        try vault.log(of: store).note(.rewrap)
        try store.close()
        try forge(forgery, Self.largest)
        let place = vault.keyringPlace()
        let keyring = try TemporaryVault.unlock(vault.keyringFile)
        try AuditLog.restore(place.read(), of: keyring, at: place, in: vault.folder)
        let restored = try TemporaryVault.unlock(vault.keyringFile)
        #expect(KeyringReceipts(restored).sequence == 2)
        try forge(forgery, Self.largest)
        store = try VaultStore.open(at: vault.folder, keyring: restored, access: .owner)
        try vault.log(of: store).destroyKeyring(resources: 0)
        try store.close()
        let last = try AuditLog.report(on: vault.folder, keyring: nil).receipts.last
        #expect(last?.act == .destroy && last?.sequence == 3)
    }

    @Test("The vault's own uncounted lines are found next to forged ones", arguments: Forgery.allCases)
    func uncounted(_ forgery: Forgery) throws {
        let store = try vault.open()
        let older = try vault.keyringPlace().read()
        let log = vault.log(of: store)
        for _ in 0..<3 { try log.note(.rewrap) }
        try forge(forgery, 1)
        try forge(forgery, Self.largest)
        #expect(try log.receipts(after: 1).map(\.sequence) == [3, 2])
        try store.close()
        try vault.keyringPlace().write(older)
        let again = try VaultStore.open(
            at: vault.folder, keyring: TemporaryVault.unlock(vault.keyringFile), access: .owner)
        #expect(try vault.log(of: again).lastSequence() == 3)
        #expect(try vault.log(of: again).note(.rewrap).sequence == 4)
        try again.close()
    }
}
