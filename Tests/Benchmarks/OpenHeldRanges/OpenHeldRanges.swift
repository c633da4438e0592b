import Foundation
import MediaVault
import VaultCrypto
import VaultModel
import VaultStorage

/// Opens held ranges through the library, and with a bare loop of `pread` and libsodium over the same segment files,
/// alternating on one thread in one run.
///
///     swift run -c release open-held-ranges [MiB] [rounds]
@main
struct OpenHeldRanges {
    static func main() async throws {
        let arguments = CommandLine.arguments.dropFirst().compactMap { Int($0) }
        let mebibytes = arguments.first ?? 256
        let rounds = arguments.dropFirst().first ?? 9
        let folder = FileManager.default.temporaryDirectory.path + "/open-held-ranges-\(getpid())"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let vault = try await filledVault(folder, bytes: Int64(mebibytes) << 20)
        let url = try MediaURL(HeldOrigin.url)

        let bare = try BareLoop(folder: folder)
        var ratios: [Double] = []
        for round in 0...rounds {
            let bareTime = try clocked { try bare.openAll() }
            let libraryTime = try await library(vault, url, bytes: Int64(mebibytes) << 20)
            // The first round warms the page cache.
            if round > 0 { ratios.append(bareTime / libraryTime) }
            let rate = { (time: Double) in String(format: "%.2f GB/s", Double(mebibytes << 20) / time / 1e9) }
            print(
                "round \(round): bare \(rate(bareTime)), library \(rate(libraryTime)), ratio \(String(format: "%.3f", bareTime / libraryTime))"
            )
        }
        ratios.sort()
        print(
            "figure: library / bare pread + libsodium, median of \(rounds) = \(String(format: "%.3f", ratios[ratios.count / 2])) (>= 0.92)"
        )
        await vault.close()
    }

    /// A vault that holds a given number of bytes of one resource, filled through the library itself.
    private static func filledVault(_ folder: String, bytes: Int64) async throws -> Vault {
        let place = VaultPlace(folder: folder + "/vault", keyring: folder + "/keyring.json")
        let unlock = Unlock.keyFile(path: folder + "/key")
        _ = try await Vault.initialize(place, unlock: unlock)
        let vault = try await Vault.open(
            place, unlock: unlock, options: VaultOptions(origin: HeldOrigin(length: bytes)))
        for try await _ in vault.download(try MediaURL(HeldOrigin.url)) {}
        return vault
    }

    /// Reads everything on one of the pool's threads.
    private static func library(_ vault: Vault, _ url: MediaURL, bytes: Int64) async throws -> Double {
        let task = Task(executorPreference: BlockingPool.shared) {
            let clock = ContinuousClock()
            let start = clock.now
            var count: Int64 = 0
            for try await chunk in try await vault.read(url) { count += Int64(chunk.count) }
            precondition(count == bytes, "all bytes must be read")
            return (clock.now - start) / .seconds(1)
        }
        return try await task.value
    }

    private static func clocked(_ work: () throws -> Void) rethrows -> Double {
        let clock = ContinuousClock()
        return try clock.measure(work) / .seconds(1)
    }
}
