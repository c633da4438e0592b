import Foundation
import MediaVault
import OriginTestSupport
import Testing
import VaultTestSupport

@Suite("A vault in an app", .timeLimit(.minutes(5)))
struct AppTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private var place: VaultPlace {
        VaultPlace(folder: folder.path + "/vault", keyring: folder.path + "/keyring.json")
    }

    private func refusal(_ body: () async throws -> Void) async -> VaultError? {
        await #expect(throws: VaultError.self) { try await body() }
    }

    @Test("The text that an app shows for an error is its message")
    func localized() {
        let error: any Error = VaultError(.noVault, "there is no vault here; create one")
        #expect(error.localizedDescription == "there is no vault here; create one")
    }

    @Test("A relative path is refused by all that takes a place, and nothing is created in the working folder")
    func relativePlace() async throws {
        let unlock = Unlock.keyFile(path: folder.path + "/key")
        let name = "relative-\(UUID())"
        for relative in [
            VaultPlace(folder: name, keyring: place.keyring), VaultPlace(folder: place.folder, keyring: name),
            VaultPlace(folder: "", keyring: place.keyring), VaultPlace(folder: "~/vault", keyring: place.keyring),
        ] {
            let calls: [() async throws -> Void] = [
                { _ = try await Vault.initialize(relative, unlock: unlock) },
                { _ = try await Vault.open(relative, unlock: unlock) },
                { _ = try await Vault.open(relative, unlock: unlock, options: VaultOptions(access: .reader)) },
                { _ = try await Vault.rebuildIndex(relative, unlock: unlock) },
                { _ = try await KeyAdministration.restore(relative, from: name, unlock: unlock) },
                { _ = try await KeyAdministration.audit(relative, unlock: nil) },
                { try await relative.requireVault() }, { try await relative.requireKeyring() },
            ]
            for call in calls {
                let error = await refusal(call)
                #expect(error?.code == .invalidArgument)
                #expect(error?.message.contains("is relative") == true)
            }
        }
        #expect(!FileManager.default.fileExists(atPath: name) && !FileManager.default.fileExists(atPath: "/" + name))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
    }

    @Test("A new key file with a relative path is refused before anything is created")
    func relativeKeyFile() async throws {
        let name = "relative-\(UUID())"
        let error = await refusal { _ = try await Vault.initialize(place, unlock: .keyFile(path: name + "/key")) }
        #expect(error?.code == .invalidArgument)
        #expect(!FileManager.default.fileExists(atPath: name) && !FileManager.default.fileExists(atPath: "/" + name))
        #expect(!FileManager.default.fileExists(atPath: place.keyring))
    }

    @Test("A second owner in one process learns that the process itself has the vault open, by whatever path")
    func openedTwice() async throws {
        let unlock = Unlock.keyFile(path: folder.path + "/key")
        _ = try await Vault.initialize(place, unlock: unlock)
        let other = VaultPlace(folder: folder.path + "/link", keyring: place.keyring)
        try FileManager.default.createSymbolicLink(atPath: other.folder, withDestinationPath: place.folder)
        let vault = try await Vault.open(place, unlock: unlock)
        for again in [place, other] {
            let error = await refusal { _ = try await Vault.open(again, unlock: unlock) }
            #expect(error?.code == .owned)
            #expect(error?.message.contains("this process has the vault open already") == true)
        }
        await vault.close()
        let next = try await Vault.open(place, unlock: unlock)
        await next.close()
    }

    @Test("A key in hand creates and opens a vault, another key does not, and a forgotten key opens nothing more")
    func keyInHand() async throws {
        let bytes = (0..<32).map { UInt8($0) }
        let key = try UnlockKey(copying: bytes)
        let report = try await Vault.initialize(place, unlock: .key(key))
        #expect(report.isKeyringCreated && !report.isKeyFileCreated && !report.isUnlockOnVaultDisk)
        let written = try unsafe UnlockKey { unsafe $0.copyBytes(from: bytes) }
        let vault = try await Vault.open(place, unlock: .key(written))
        await vault.close()
        let wrong = try UnlockKey(copying: bytes.reversed())
        #expect(await refusal { _ = try await Vault.open(place, unlock: .key(wrong)) }?.code == .wrongKey)
        Unlock.key(key).forget()
        let error = await refusal { _ = try await Vault.open(place, unlock: .key(key)) }
        #expect(error?.code == .wrongKey && error?.message.contains("forgotten") == true)
    }

    @Test("A key in hand has 32 bytes", arguments: [0, 31, 33])
    func keyOfAnotherLength(length: Int) async {
        let error = await refusal { _ = try UnlockKey(copying: Array(repeating: 1, count: length)) }
        #expect(error?.code == .wrongKey)
    }

    @Test("An app's test moves the clock: what was fresh is asked for again when its time is over")
    func ownClock() async throws {
        let unlock = Unlock.keyFile(path: folder.path + "/key")
        _ = try await Vault.initialize(place, unlock: unlock)
        let clock = TestClock()
        let resource = ScriptedResource(length: 1000)
        let origin = ScriptedTransport { request in
            var answer = resource.answer(to: request)
            answer.set("Cache-Control", "max-age=60")
            return answer
        }
        var options = VaultOptions(origin: origin)
        options.now = { clock.now }
        let vault = try await Vault.open(place, unlock: unlock, options: options)
        let url = try MediaURL("https://host.example/film.mp4")
        for (seconds, count) in [(0, 1), (50, 1), (11, 2)] as [(Int64, Int)] {
            clock.advance(by: seconds)
            for try await _ in try await vault.read(url) {}
            #expect(origin.count == count)
        }
        await vault.close()
    }

    @Test("A clock that is far off does no harm", arguments: [Int64.min, -1, Int64.max])
    func impossibleClock(seconds: Int64) async throws {
        let unlock = Unlock.keyFile(path: folder.path + "/key")
        _ = try await Vault.initialize(place, unlock: unlock)
        let resource = ScriptedResource(length: 1000)
        var options = VaultOptions(origin: ScriptedTransport { resource.answer(to: $0) })
        options.now = { seconds }
        let vault = try await Vault.open(place, unlock: unlock, options: options)
        var bytes: [UInt8] = []
        for try await more in try await vault.read(try MediaURL("https://host.example/film.mp4")) { bytes += more }
        #expect(bytes == resource.media.bytes(0..<1000))
        await vault.close()
    }

    @Test("An app's policy limits how often an origin is asked in vain, whatever its other numbers are")
    func ownPolicy() async throws {
        let unlock = Unlock.keyFile(path: folder.path + "/key")
        _ = try await Vault.initialize(place, unlock: unlock)
        let origin = ScriptedTransport { _ in
            var answer = ScriptedAnswer(200)
            answer.before = [.close]
            return answer
        }
        var options = VaultOptions(origin: origin)
        options.retry.attemptsPerMinute = 4
        (options.retry.firstDelay, options.retry.longestDelay) = (.seconds(-1), .seconds(Int64.max))
        let vault = try await Vault.open(place, unlock: unlock, options: options)
        for _ in 0..<8 {
            await #expect(throws: VaultError.self) {
                for try await _ in try await vault.read(try MediaURL("https://host.example/film.mp4")) {}
            }
        }
        #expect(origin.count == 4)
        await vault.close()
    }
}
