import MediaVault
import Testing

@testable import VaultCommand

@Suite struct ExitStatusTests {
    @Test(
        "Each error code of the library has its documented exit code",
        arguments: [
            (.invalidURL, 2), (.invalidArgument, 2), (.unsatisfiableRange, 2),
            (.noVault, 1), (.owned, 1), (.storage, 1), (.diskFull, 1), (.closed, 1), (.busy, 1), (.inUse, 1),
            (.wrongKey, 3), (.damagedKeyring, 3), (.tamperedKeyring, 3), (.foreignKeyring, 3), (.olderKeyring, 3),
            (.looseKeyFile, 3),
            (.integrity, 4),
            (.unreachable, 5), (.refused, 5), (.invalidResponse, 5), (.changed, 5),
            (.notHeld, 6),
        ] as [(VaultError.Code, Int32)])
    func code(_ code: VaultError.Code, _ status: Int32) {
        #expect(ExitStatus(code).rawValue == status)
    }

    @Test("The exit code after a signal is 128 plus its number") func signal() {
        #expect(ExitStatus.signal(2).rawValue == 130)
    }
}
