import Testing

@testable import VaultCrypto

@Suite("Swap")
struct SwapStatusTests {
    private static let none = "Filename\tType\tSize\tUsed\tPriority\n"
    private static let device = none + "/dev/sda2 partition 8388604 0 -2\n"

    @Test(
        "Memory may be swapped if there is a swap device and no control group forbids it",
        arguments: [
            (none, [], false), ("", [], false), (device, [], true), (device, ["max\n"], true), (device, ["0\n"], false),
            (device, ["max\n", "0\n"], false), (device, ["1048576\n", ""], true), (none, ["max\n"], false),
        ] as [(String, [String], Bool)])
    func decision(swaps: String, limits: [String], isOpen: Bool) {
        #expect(SwapStatus.isOpen(swaps: swaps, limits: limits) == isOpen)
    }

    @Test(
        "The control groups of a process are its own and all its ancestors except the root",
        arguments: [
            ("0::/\n", []), ("", []), ("1:cpu:/a\n", []),
            ("1:cpu:/x\n0::/system.slice/vault.service\n", ["/system.slice/vault.service", "/system.slice"]),
        ] as [(String, [String])])
    func groups(file: String, expected: [String]) {
        #expect(SwapStatus.groups(of: file) == expected)
    }
}
