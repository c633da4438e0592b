import Foundation
import OriginTestSupport
import Testing
import VaultModel
import VaultStorage
import VaultTestSupport

@testable import MediaVault

@Suite("Signing in as a viewer", .timeLimit(.minutes(5)))
struct SignInTests {
    private let fixture: VaultFixture
    private let clock = TestClock()

    init() async throws { fixture = try await VaultFixture(ScriptedResource(length: 0)) }

    private func open() async throws -> Vault {
        var options = VaultOptions()
        options.now = { [clock] in clock.now }
        return try await Vault.open(fixture.place, unlock: fixture.unlock, options: options)
    }

    private func error(
        _ viewers: Viewers, _ name: String, _ pin: String, from address: [UInt8] = [], on device: DeviceID? = nil
    ) async throws -> VaultError? {
        let pin = try PIN(pin)
        return await #expect(throws: VaultError.self) {
            try await viewers.signIn(name: name, pin: pin, from: address) { _ in device }
        }
    }

    @Test("A name and its PIN sign in, whatever the capitals of the name; others, and no PIN, have one answer")
    func signIn() async throws {
        let vault = try await open()
        let anna = try await vault.viewers.add("Anna", pin: PIN("2468"))
        try await vault.viewers.add("Berta")
        #expect(try await vault.viewers.signIn(name: "anna", pin: PIN("2468")) == anna.id)
        for (name, pin) in [("Anna", "2469"), ("Nobody", "2468"), ("Berta", "2468")] {
            #expect(try await error(vault.viewers, name, pin) == Viewers.wrongNameOrPIN, "\(name)")
        }
        try await vault.viewers.setPIN(PIN("1357"), of: anna.id)
        #expect(try await error(vault.viewers, "Anna", "2468") == Viewers.wrongNameOrPIN)
        #expect(try await vault.viewers.signIn(name: "Anna", pin: PIN("1357")) == anna.id)
        await vault.close()
    }

    @Test("After five wrong tries the right PIN must wait, too, and a restart forgets none of them")
    func slowed() async throws {
        var vault = try await open()
        let anna = try await vault.viewers.add("Anna", pin: PIN("2468"))
        for _ in 0..<5 { _ = try await error(vault.viewers, "Anna", "0000") }
        let refused = try await error(vault.viewers, "Anna", "2468")
        #expect(refused?.code == .busy && refused?.retryAfter == 30)
        await vault.close()
        vault = try await open()
        #expect(try await error(vault.viewers, "Anna", "2468")?.retryAfter == 30)
        clock.advance(by: 30)
        #expect(try await error(vault.viewers, "Anna", "0000") == Viewers.wrongNameOrPIN)
        #expect(try await error(vault.viewers, "Anna", "2468")?.retryAfter == 60)
        clock.advance(by: 60)
        #expect(try await vault.viewers.signIn(name: "Anna", pin: PIN("2468")) == anna.id)
        // After a successful sign-in, counting starts again.
        #expect(try await error(vault.viewers, "Anna", "0000") == Viewers.wrongNameOrPIN)
        #expect(try await vault.viewers.signIn(name: "Anna", pin: PIN("2468")) == anna.id)
        await vault.close()
    }

    @Test("A clock that was a year ahead keeps a viewer out for no longer than their wrong tries do, once it is right")
    func ahead() async throws {
        let vault = try await open()
        clock.advance(by: 31_536_000)
        let anna = try await vault.viewers.add("Anna", pin: PIN("2468"))
        for name in ["Anna", "Nobody"] { for _ in 0..<5 { _ = try await error(vault.viewers, name, "0000") } }
        clock.advance(by: -31_536_000)
        for name in ["Anna", "Nobody"] { #expect(try await error(vault.viewers, name, "2468")?.retryAfter == 30) }
        clock.advance(by: 30)
        #expect(try await error(vault.viewers, "Nobody", "2468") == Viewers.wrongNameOrPIN)
        #expect(try await vault.viewers.signIn(name: "Anna", pin: PIN("2468")) == anna.id)
        await vault.close()
    }

    @Test("Wrong tries at one address keep out no one at another, nor the device that signed in before, nor the owner")
    func elsewhere() async throws {
        let vault = try await open()
        let viewers = vault.viewers
        let anna = try await viewers.add("Anna", pin: PIN("2468"))
        let device = try vault.tokens.mark(of: anna, addedTo: [], among: [])
        let known: @Sendable (Viewer) -> DeviceID? = { [tokens = vault.tokens] in tokens.device([device], of: $0) }
        for _ in 0..<5 { _ = try await error(viewers, "Anna", "0000", from: [192, 0, 2, 1]) }
        #expect(try await error(viewers, "Anna", "2468", from: [192, 0, 2, 1])?.code == .busy)
        #expect(try await viewers.signIn(name: "Anna", pin: PIN("2468"), from: [192, 0, 2, 2]) == anna.id)
        #expect(
            try await viewers.signIn(name: "Anna", pin: PIN("2468"), from: [192, 0, 2, 1], knownAs: known).id
                == anna.id)
        // The address still waits, because a viewer's success elsewhere gives it no more attempts.
        #expect(try await error(viewers, "Anna", "2468", from: [192, 0, 2, 1])?.code == .busy)
        // On the device, only its own failed attempts count.
        for _ in 0..<5 { _ = try await error(viewers, "Anna", "0000", from: [192, 0, 2, 3], on: device.id) }
        #expect(try await error(viewers, "Anna", "2468", from: [192, 0, 2, 3], on: device.id)?.retryAfter == 30)
        #expect(try await viewers.signIn(name: "Anna", pin: PIN("2468"), from: [192, 0, 2, 3]) == anna.id)
        let shown = try #require(viewers.viewer(anna.id)).failedSignIns
        #expect(shown.map(\.isKnownDevice) == [true, false] && shown.map(\.count) == [5, 5])
        #expect(shown.map(\.address) == [[192, 0, 2, 3], [192, 0, 2, 1]])
        try await viewers.unlock(anna.id)
        #expect(viewers.viewer(anna.id)?.failedSignIns == [])
        #expect(try await viewers.signIn(name: "Anna", pin: PIN("2468"), from: [192, 0, 2, 1]) == anna.id)
        await vault.close()
    }

    @Test("Addresses of one IPv6 network are one, and a restart forgets no address")
    func networks() async throws {
        var vault = try await open()
        try await vault.viewers.add("Anna", pin: PIN("2468"))
        func address(_ last: UInt8, network: UInt8 = 0) -> [UInt8] {
            [0x20, 1, 0xD, 0xB8, 0, 0, 0, network] + Array(repeating: 0, count: 7) + [last]
        }
        for number in 1...5 { _ = try await error(vault.viewers, "Anna", "0000", from: address(UInt8(number))) }
        await vault.close()
        vault = try await open()
        #expect(try await error(vault.viewers, "Anna", "2468", from: address(9))?.retryAfter == 30)
        _ = try await vault.viewers.signIn(name: "Anna", pin: PIN("2468"), from: address(9, network: 1))
        await vault.close()
    }

    @Test("A mark makes a device known to the last viewers who signed in on it, until their PIN changes, and no other")
    func mark() async throws {
        let vault = try await open()
        let (viewers, tokens) = (vault.viewers, vault.tokens)
        var mark: DeviceMark?
        var all: [Viewer] = []
        for number in 0...DeviceMark.maxTags {
            all.append(try await viewers.add("Viewer \(number)"))
            mark = try tokens.mark(of: all[number], addedTo: mark.map { [$0] } ?? [], among: all)
        }
        let last = try #require(mark)
        #expect(DeviceMark(last.text) == last)
        #expect(all.map { tokens.device([last], of: $0) == last.id } == all.indices.map { $0 != 0 })
        #expect(tokens.device([], of: all[1]) == nil)
        #expect(try tokens.mark(of: all[1], addedTo: [last], among: all).text.utf8.count == last.text.utf8.count)
        for odd in ["", "mvd_", last.text + "A", String(last.text.dropLast()), "mvs_" + last.text.dropFirst(4)] {
            #expect(DeviceMark(odd) == nil, "\(odd)")
        }
        let changed = try await viewers.setPIN(PIN("2468"), of: all[1].id)
        #expect(tokens.device([last], of: changed) == nil)
        try await vault.keys.revokeLinks()
        #expect(tokens.device([last], of: all[2]) == nil)
        await vault.close()
    }

    @Test("Who signs in is returned as they were, so that no device is known by a PIN that was set since")
    func asTheyWere() async throws {
        let vault = try await open()
        let anna = try await vault.viewers.add("Anna", pin: PIN("2468"))
        let known = try await vault.viewers.signIn(name: "Anna", pin: PIN("2468"), from: []) { _ in nil }
        let changed = try await vault.viewers.setPIN(PIN("1357"), of: anna.id)
        let mark = try vault.tokens.mark(of: known, addedTo: [], among: [])
        #expect(known == anna && vault.tokens.device([mark], of: changed) == nil)
        await vault.close()
    }

    @Test("Of several marks the proved one counts, wherever it is, and the id of one that nobody proves is not kept")
    func tossed() async throws {
        let vault = try await open()
        let (tokens, other) = (vault.tokens, try await VaultFixture(ScriptedResource(length: 0)).open())
        let (anna, berta) = (try await vault.viewers.add("Anna"), try await vault.viewers.add("Berta"))
        let strange = try other.tokens.mark(of: try await other.viewers.add("Mallory"), addedTo: [], among: [])
        let known = try tokens.mark(of: anna, addedTo: [], among: [])
        #expect(tokens.device([strange, known], of: anna) == known.id && tokens.device([strange], of: anna) == nil)
        let all = vault.viewers.all
        #expect(try tokens.mark(of: anna, addedTo: [strange], among: all).id != strange.id)
        // A browser that two viewers use keeps its id, and has tags for both.
        let both = try tokens.mark(of: berta, addedTo: [strange, known], among: all)
        #expect(both.id == known.id && [anna, berta].allSatisfy { tokens.device([both], of: $0) == known.id })
        await other.close()
        await vault.close()
    }

    @Test("A wrong try is written down before it is answered")
    func written() async throws {
        let vault = try await open()
        try await vault.viewers.add("Anna", pin: PIN("2468"))
        for count in 1...2 {
            _ = try await error(vault.viewers, "Anna", "0000")
            #expect(try vault.store.viewers.all().viewers.map { $0.failedSignIns.map(\.count) } == [[count]])
        }
        await vault.close()
    }

    @Test("A name that no viewer has, and a viewer without a PIN, take as long as a wrong PIN")
    func time() async throws {
        let vault = try await open()
        try await vault.viewers.add("Anna", pin: PIN("2468"))
        try await vault.viewers.add("Berta")
        var least: [String: Duration] = [:]
        // Measurements alternate, because the machine may be busy for a while.
        for _ in 0..<4 {
            for name in ["Anna", "Nobody", "Berta"] {
                let start = ContinuousClock.now
                _ = try await error(vault.viewers, name, "0000")
                least[name] = min(least[name] ?? .seconds(3600), .now - start)
            }
        }
        // The derivation takes far longer than all the rest.
        let known = try #require(least["Anna"])
        for name in ["Nobody", "Berta"] { #expect(least[name] ?? .zero > known / 8, "\(least)") }
        await vault.close()
    }

    @Test("A name that no viewer has is slowed as that of a viewer is")
    func unknown() async throws {
        let vault = try await open()
        for _ in 0..<5 { #expect(try await error(vault.viewers, "Nobody", "0000") == Viewers.wrongNameOrPIN) }
        #expect(try await error(vault.viewers, "nobody", "0000")?.retryAfter == 30)
        await vault.close()
    }

    @Test(
        "One PIN is derived at a time, and of many callers at an address those beyond a short queue are refused at once"
    )
    func crowd() async throws {
        let vault = try await open()
        let pin = try PIN("0000")
        let viewers = vault.viewers
        let codes = await withTaskGroup(of: VaultError.Code?.self) { group in
            for number in 0..<40 {
                group.addTask {
                    do {
                        _ = try await viewers.signIn(name: "Name \(number)", pin: pin, from: [192, 0, 2, 1])
                        return nil
                    } catch {
                        return (error as? VaultError)?.code
                    }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(codes.count { $0 == .busy } == 40 - 1 - RoundRobin<Int>.maxOfLine)
        #expect(codes.count { $0 == .wrongKey } == 1 + RoundRobin<Int>.maxOfLine)
        await vault.close()
    }

    @Test("All devices of a viewer wait in one line, however many they have got")
    func devices() async throws {
        let vault = try await open()
        let (viewers, pin) = (vault.viewers, try PIN("0000"))
        try await viewers.add("Anna", pin: PIN("2468"))
        let devices = try (1...40).map { try #require(DeviceID(bytes: Array(repeating: $0, count: 16))) }
        let codes = await withTaskGroup(of: VaultError.Code?.self) { group in
            for device in devices {
                group.addTask {
                    do {
                        _ = try await viewers.signIn(name: "Anna", pin: pin, from: [192, 0, 2, 1]) { _ in device }
                        return nil
                    } catch {
                        return (error as? VaultError)?.code
                    }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(codes.count { $0 == .busy } == 40 - 1 - RoundRobin<Int>.maxOfLine)
        await vault.close()
    }

    @Test("The owner sets a PIN before strangers who wait to sign in")
    func ownerFirst() async throws {
        let vault = try await open()
        let (viewers, pin) = (vault.viewers, try PIN("0000"))
        let (ends, end) = AsyncStream.makeStream(of: Never.self)
        let (begins, begin) = AsyncStream.makeStream(of: Void.self)
        let (done, tell) = AsyncStream.makeStream(of: String.self)
        func wait(for count: Int) async throws {
            while viewers.signIns.waitingCount < count { try await Task.sleep(for: .milliseconds(1)) }
        }
        try await withThrowingTaskGroup { group in
            group.addTask {
                try await viewers.signIns.run(from: .address([0])) {
                    begin.finish()
                    for await _ in ends {}
                }
            }
            for await _ in begins {}
            for number in 1...4 {
                group.addTask {
                    _ = try? await viewers.signIn(name: "Stranger", pin: pin, from: [UInt8(number)])
                    tell.yield("stranger")
                }
            }
            try await wait(for: 4)
            group.addTask {
                try await viewers.add("Berta", pin: pin)
                tell.yield("owner")
            }
            try await wait(for: 5)
            end.finish()
            try await group.waitForAll()
        }
        tell.finish()
        let order = await done.reduce(into: []) { $0.append($1) }
        // The next one may be as fast as the owner's write.
        #expect(order.count == 5 && order.prefix(2).contains("owner"), "\(order)")
        await vault.close()
    }

    @Test("Names that no viewer has are remembered up to a bound")
    func bounded() {
        var names = UnknownNames()
        for number in 0...UnknownNames.maxCount { names.noteWrong("\(number)", from: .address([]), at: 0) }
        let counts = ["0", "1", "\(UnknownNames.maxCount)"].map { names[$0].failures.map(\.count) }
        #expect(counts == [[], [1], [1]])
    }

    @Test(
        "A PIN has 4 to 64 characters in one line",
        arguments: [
            ("123", false), ("1234", true), (String(repeating: "x", count: 64), true),
            (String(repeating: "x", count: 65), false), ("12\n34", false), ("", false), ("pässwört", true),
        ])
    func pins(text: String, isPIN: Bool) { #expect(((try? PIN(text)) != nil) == isPIN) }

    @Test("A PIN that is typed in another form of the same characters is the same")
    func composed() throws {
        let verifier = try PIN("p\u{E4}ss").verifier()
        #expect(try PIN("pa\u{308}ss").matches(verifier) && !PIN("pass").matches(verifier))
    }

    @Test("Two viewers cannot have one name, names are checked, and a removed viewer is gone")
    func names() async throws {
        let vault = try await open()
        let viewers = vault.viewers
        let anna = try await viewers.add("Anna")
        let berta = try await viewers.add("Berta")
        for act in [
            { @Sendable in _ = try await viewers.add("ANNA") },
            { @Sendable in _ = try await viewers.rename(berta.id, to: "anna") },
        ] {
            let error = await #expect(throws: VaultError.self) { try await act() }
            #expect(error?.code == .inUse)
        }
        let odd = await #expect(throws: VaultError.self) { try await viewers.add("two\nlines") }
        #expect(odd?.code == .invalidArgument)
        #expect(try await viewers.rename(anna.id, to: "ANNA").name == "ANNA")
        try await viewers.remove(anna.id)
        let gone = await #expect(throws: VaultError.self) { try await viewers.remove(anna.id) }
        #expect(gone?.code == .notHeld && viewers.all.map(\.name) == ["Berta"])
        await vault.close()
        let again = try await open()
        #expect(again.viewers.all.map(\.name) == ["Berta"])
        await again.close()
    }
}
