import Testing
import VaultModel

@testable import MediaVault

@Suite("Checking whether a keyring backup fits a vault")
struct RestorePlanTests {
    private typealias Facts = RestorePlan.Facts

    /// The facts of a vault with generation 1 and ten titles, and of a current backup.
    private static let sound = Facts(
        revision: 3, current: 1, active: [1], hasLocator: true, knownRevision: 3, indexedRevision: 3, indexed: [1],
        resources: [1: 10],
        opened: [1], opensSettings: true)

    private static func facts(_ change: (inout Facts) -> Void) -> Facts {
        var facts = sound
        change(&facts)
        return facts
    }

    @Test("A current backup, or one since which no generation was retired, is restored completely")
    func whole() throws {
        for facts in [
            Self.sound, Self.facts { $0.indexedRevision = 9 },
            // Generation 2 was added to the keyring, and the index does not name it yet.
            Self.facts { ($0.active, $0.current, $0.indexedRevision) = ([1, 2], 2, 9) },
            Self.facts { ($0.resources, $0.opened) = ([:], []) },
        ] {
            let judgement = try RestorePlan(facts)
            #expect(judgement.warnings.isEmpty && judgement.retired.isEmpty && judgement.current == facts.current)
        }
    }

    @Test("A key that was retired after the backup does not come back, and a warning reports it")
    func retired() throws {
        let judgement = try RestorePlan(
            Self.facts {
                ($0.active, $0.indexed, $0.resources, $0.opened, $0.indexedRevision) = ([1, 2], [2], [2: 10], [2], 9)
            })
        #expect(judgement.retired == [1] && judgement.current == 2 && judgement.warnings.count == 1)
        #expect(judgement.warnings[0].contains("generation 1"))
        // An interrupted retirement left its key in both, at the current revision, so it is not finished.
        let unfinished = try RestorePlan(
            Self.facts { ($0.active, $0.indexed, $0.resources, $0.opened) = ([1, 2], [2], [2: 10], [2]) })
        #expect(unfinished.retired.isEmpty)
    }

    @Test("A warning counts titles under a generation that the backup lacks or has with another key")
    func lacking() throws {
        let judgement = try RestorePlan(
            Self.facts { ($0.indexed, $0.resources, $0.indexedRevision) = ([1, 2], [1: 10, 2: 7], 9) })
        #expect(judgement.warnings.count == 1 && judgement.current == 1)
        #expect(judgement.warnings[0].contains("generation 2") && judgement.warnings[0].contains("7 titles"))
        let other = try RestorePlan(
            Self.facts { ($0.active, $0.indexed, $0.resources) = ([1, 2], [1, 2], [1: 10, 2: 7]) })
        #expect(other.warnings.count == 1)
    }

    @Test("A backup that opens nothing in the vault is always refused")
    func nothing() {
        for facts in [
            Self.facts { $0.hasLocator = false }, Self.facts { $0.opened = [] },
            Self.facts { ($0.resources, $0.opened, $0.opensSettings) = ([:], [], false) },
            // Every generation in the backup was retired later.
            Self.facts { ($0.indexed, $0.resources, $0.opened, $0.indexedRevision) = ([2], [:], [], 9) },
        ] {
            let error = #expect(throws: VaultError.self) { try RestorePlan(facts) }
            #expect(error?.code == .olderKeyring)
        }
    }
}
