import MediaVault
import Testing

@Suite("Which mode counts")
struct VaultModeTests {
    @Test("A resource's own mode counts, unless the vault's forbids more")
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

    @Test("The names are those of the command")
    func names() {
        #expect(VaultMode.allCases.map(\.rawValue) == ["online", "prefer-vault", "offline", "no-store"])
    }
}
