import Foundation
import Testing
import VaultCrypto
import VaultModel
import VaultTestSupport

@testable import VaultStorage

@Suite("A due receipt is written once, even if its writer was killed before it recorded that")
struct DueReceiptTests {
    private let vault: TemporaryVault
    private let store: VaultStore
    private let log: AuditLog
    private let title: ResourceID

    init() throws {
        vault = try TemporaryVault()
        store = try vault.open()
        log = vault.log(of: store)
        title = try store.addMedia("film", length: 9).id
    }

    private var path: String { vault.folder + "/audit.log" }

    private func acts() throws -> [Receipt.Act] {
        let report = try AuditLog.report(on: vault.folder, keyring: store.keyring)
        #expect(report.isSound)
        return report.receipts.map(\.act)
    }

    @Test("A shred has one receipt and rotates the generation once", arguments: [false, true])
    func shred(isQuick: Bool) throws {
        _ = try Shreds(store).shred(title, isQuick: isQuick, noting: log)
        let pending = try store.index.settings().pendingShreds
        _ = try Shreds(store).finish(noting: log)
        let before = try acts()
        #expect(before == (isQuick ? [.shred] : [.rotate, .retire, .shred]))
        try store.index.changeSettings { $0.pendingShreds = pending }
        _ = try Shreds(store).finish(noting: log)
        #expect(try acts() == before && store.index.settings().pendingShreds.isEmpty)
        // Shredding the same title again is another shred.
        let again = try store.addMedia("film", length: 9).id
        #expect(again == title)
        _ = try Shreds(store).shred(again, isQuick: true, noting: log)
        _ = try Shreds(store).finish(noting: log)
        #expect(try acts() == before + [.shred])
        try store.close()
    }

    @Test("A reseal of named titles or of everything has one receipt for each", arguments: [false, true])
    func reseal(isOfAll: Bool) throws {
        let other = try store.addMedia("other", length: 9).id
        let order = try SegmentReseal(store).order(
            of: isOfAll ? nil : [title, other], bytesPerSecond: nil, noting: log)
        try SegmentReseal(store).finishOrder(order, of: isOfAll ? [title, other] : [title], noting: log)
        #expect(try acts() == [.reseal])
        try store.index.changeSettings { $0.resealOrder = order }
        try SegmentReseal(store).finishOrder(order, of: [title, other], noting: log)
        // If the titles were named, the one without a receipt gets it now.
        #expect(try acts() == (isOfAll ? [.reseal] : [.reseal, .reseal]))
        let next = try SegmentReseal(store).order(of: isOfAll ? nil : [title], bytesPerSecond: nil, noting: log)
        try SegmentReseal(store).finishOrder(next, of: [title], noting: log)
        #expect(try acts().count == (isOfAll ? 2 : 3))
        try store.close()
    }

    @Test("A found receipt that the keyring does not count is counted, so that its removal would be detected")
    func uncounted() throws {
        let keyring = try vault.keyringPlace().read()
        try log.note(.shred, outcome: .removed, subject: title)
        try store.close()
        try vault.keyringPlace().write(keyring)
        let opened = try VaultStore.open(
            at: vault.folder, keyring: TemporaryVault.unlock(vault.keyringFile), access: .owner)
        #expect(KeyringReceipts(opened.keyring).sequence == 0)
        let log = vault.log(of: opened)
        #expect(try log.lastSequence() == 1)
        #expect(try log.receipts(after: nil).isEmpty && KeyringReceipts(opened.keyring).sequence == 0)
        #expect(try log.receipts(after: 0).map(\.subject) == [log.subject(of: title)])
        #expect(try KeyringReceipts(TemporaryVault.unlock(vault.keyringFile)).sequence == 1)
        #expect(try log.receipts(after: 1).isEmpty)
        try opened.close()
    }

    @Test("A receipt from before a new root key is found too")
    func newRoot() throws {
        try log.note(.shred, outcome: .removed, subject: title)
        _ = try Generations(store).renewRoot(
            openedBy: [SharedSecret(TestKeyring.secret())], droppingOthers: false, noting: log)
        try log.note(.rewrap)
        #expect(try log.receipts(after: 0).map(\.act) == [.rewrap, .rotateRoot, .shred])
        try store.close()
    }

    @Test("A line not signed with this vault's key does not count as the receipt")
    func forged() throws {
        let other = try store.addMedia("other", length: 9).id
        try log.note(.shred, outcome: .destroyed, subject: other)
        let (name, wanted) = (try #require(log.subject(of: other)), try #require(log.subject(of: title)))
        let text = try String(contentsOfFile: path, encoding: .utf8).replacing(name, with: wanted)
        #expect(text.contains(wanted))
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        #expect(try log.receipts(after: 0).isEmpty)
        try store.close()
    }

    @Test(
        "Only a later shred receipt for the same resource counts",
        arguments: [
            (5, "shred", "aa", true), (4, "shred", "aa", false), (5, "reseal", "aa", false), (5, "shred", "bb", false),
            (nil, "shred", "aa", false),
        ] as [(Int64?, String, String, Bool)])
    func noted(sequence: Int64?, act: String, subject: String, isNoted: Bool) {
        let receipt = Receipt(
            sequence: sequence ?? 5, time: 1, act: Receipt.Act(rawValue: act), outcome: .removed, generation: 1,
            subject: subject, resources: nil)
        let pending = PendingShred(subject: "aa", isQuick: false, after: sequence == nil ? nil : 4)
        #expect(pending.isNoted(in: [receipt]) == isNoted)
        #expect(PendingShred(pending.object) == pending)
    }

    @Test("A title that is shredded twice before its receipt is written has one pending shred, the more thorough one")
    func together() {
        var settings = VaultSettings()
        for (isQuick, after) in [(false, 3), (true, 7)] as [(Bool, Int64)] {
            settings.add(PendingShred(subject: "aa", isQuick: isQuick, after: after))
        }
        settings.add(PendingShred(subject: "bb", isQuick: true, after: 7))
        #expect(
            settings.pendingShreds == [
                PendingShred(subject: "aa", isQuick: false, after: 7),
                PendingShred(subject: "bb", isQuick: true, after: 7),
            ])
    }
}
