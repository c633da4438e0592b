import Foundation
import MediaVault
import VaultCrypto
import VaultModel
import VaultStorage
import VaultTestSupport

/// Compares resealing through the library with libsodium alone, and a warm reader alone with one during a slow reseal,
/// in one run. Ends with 1 if a bound is missed.
///
///     swift run -c release reseal-held-title [MiB] [rounds] [folder]
@main
struct ResealHeldTitle {
    private static let slowRate: Int64 = 50_000_000

    static func main() async throws { exit(try await measured().areMet ? 0 : 1) }

    private static func measured() async throws -> BoundedFigures {
        var figures = BoundedFigures()
        let arguments = Array(CommandLine.arguments.dropFirst())
        let bytes = (arguments.first.flatMap { Int($0) } ?? 256) << 20
        let rounds = arguments.dropFirst().first.flatMap { Int($0) } ?? 5
        let above = arguments.dropFirst(2).first ?? FileManager.default.temporaryDirectory.path
        let folder = above + "/reseal-held-title-\(getpid())"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let place = VaultPlace(folder: folder + "/vault", keyring: folder + "/keyring.json")
        let unlock = Unlock.keyFile(path: folder + "/key")
        _ = try await Vault.initialize(place, unlock: unlock)
        let url = try fill(place, key: folder + "/key", bytes: bytes)
        let vault = try await Vault.open(place, unlock: unlock, options: VaultOptions(mode: .offline))

        var ratios: [Double] = []
        for round in 1...rounds {
            let bare = clocked { BareSeal().run(bytes: bytes) }
            let resealed = try await clocked { for try await _ in vault.keys.reseal() {} }
            ratios.append(bare / resealed)
            print("round \(round): libsodium \(rate(bytes, bare)), reseal \(rate(bytes, resealed))")
        }
        figures.tell("reseal / libsodium open + seal", median(ratios), atLeast: 0.7)

        let alone = try await warmReads(vault, url, bytes, count: rounds)
        let slow = Task { for try await _ in vault.keys.reseal(bytesPerSecond: slowRate) {} }
        let beside = try await warmReads(vault, url, bytes, count: rounds)
        slow.cancel()
        _ = await slow.result
        print("warm reader: alone \(rate(bytes, alone)), beside a reseal of 50 MB/s \(rate(bytes, beside))")
        figures.tell("warm reader beside a reseal / alone", alone / beside, atLeast: 0.7)
        await vault.close()
        return figures
    }

    /// Stores one title directly.
    private static func fill(_ place: VaultPlace, key: String, bytes: Int) throws -> MediaURL {
        let secret = UnlockSecret.key(try KeyFile.readKey(key, allowLoose: false))
        let keyring = try KeyringReader.unlock(KeyringFile.read(place.keyring), with: secret)
        let store = try VaultStore.open(at: place.folder, keyring: keyring, access: .owner)
        let title = try store.addMedia("film", length: Int64(bytes), resourceClass: .pinned)
        let segment = [UInt8](repeating: 0x5A, count: Int(SegmentDescription.maxBytes))
        for start in stride(from: 0, to: bytes, by: segment.count) {
            _ = try store.store(Array(segment.prefix(bytes - start)), at: Int64(start), of: title)
        }
        let url = title.metadata.url
        try store.close()
        return try MediaURL(url)
    }

    /// The median time to read everything once it is in memory.
    private static func warmReads(_ vault: Vault, _ url: MediaURL, _ bytes: Int, count: Int) async throws -> Double {
        var times: [Double] = []
        for _ in 0...count {
            times.append(
                try await clocked {
                    var read = 0
                    for try await chunk in try await vault.read(MediaReference(url)) { read += chunk.count }
                    precondition(read == bytes, "the whole title must be held")
                })
        }
        return median(Array(times.dropFirst()))
    }

    private static func clocked(_ body: () throws -> Void) rethrows -> Double {
        let start = ContinuousClock.now
        try body()
        return (ContinuousClock.now - start) / .seconds(1)
    }

    private static func clocked(_ body: () async throws -> Void) async rethrows -> Double {
        let start = ContinuousClock.now
        try await body()
        return (ContinuousClock.now - start) / .seconds(1)
    }

    private static func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }

    private static func rate(_ bytes: Int, _ time: Double) -> String {
        String(format: "%.2f GB/s", Double(bytes) / time / 1e9)
    }
}
