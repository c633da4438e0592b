import Testing
import VaultModel

@Suite("The mode in force")
struct VaultModeTests {
    @Test("A resource's own mode applies, unless the vault's mode forbids more")
    func inForce() {
        for vault in VaultMode.allCases {
            #expect(VaultMode.inForce(vault: vault, own: nil) == vault)
            for own in VaultMode.allCases {
                let expected: VaultMode =
                    switch (vault, own) {
                    case (.offline, _), (_, .offline): .offline
                    case (.noStore, _), (_, .noStore): .noStore
                    default: own
                    }
                #expect(VaultMode.inForce(vault: vault, own: own) == expected, "\(vault) \(own)")
            }
        }
    }

    @Test("The raw values are the names that the command uses")
    func names() {
        #expect(VaultMode.allCases.map(\.rawValue) == ["online", "prefer-vault", "offline", "no-store"])
    }
}
