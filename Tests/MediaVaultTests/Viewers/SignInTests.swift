import Foundation
import OriginTestSupport
import Testing
import VaultModel
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

    private func error(_ viewers: Viewers, _ name: String, _ pin: String) async throws -> VaultError? {
        let pin = try PIN(pin)
        return await #expect(throws: VaultError.self) { try await viewers.signIn(name: name, pin: pin) }
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
        // Who has signed in begins again.
        #expect(try await error(vault.viewers, "Anna", "0000") == Viewers.wrongNameOrPIN)
        #expect(try await vault.viewers.signIn(name: "Anna", pin: PIN("2468")) == anna.id)
        await vault.close()
    }

    @Test("A name that no viewer has is slowed as that of a viewer is")
    func unknown() async throws {
        let vault = try await open()
        for _ in 0..<5 { #expect(try await error(vault.viewers, "Nobody", "0000") == Viewers.wrongNameOrPIN) }
        #expect(try await error(vault.viewers, "nobody", "0000")?.retryAfter == 30)
        await vault.close()
    }

    @Test("One PIN is derived at a time, and of many callers those beyond a short queue are refused at once")
    func crowd() async throws {
        let vault = try await open()
        let pin = try PIN("0000")
        let viewers = vault.viewers
        let codes = await withTaskGroup(of: VaultError.Code?.self) { group in
            for number in 0..<40 {
                group.addTask {
                    do {
                        _ = try await viewers.signIn(name: "Name \(number)", pin: pin)
                        return nil
                    } catch {
                        return (error as? VaultError)?.code
                    }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(codes.count { $0 == .busy } == 40 - 1 - SignInQueue.maxWaiting)
        #expect(codes.count { $0 == .wrongKey } == 1 + SignInQueue.maxWaiting)
        await vault.close()
    }

    @Test("Names that no viewer has are remembered up to a bound")
    func bounded() {
        var names = UnknownNames()
        for number in 0...UnknownNames.maxCount { names.noteWrong("\(number)", at: 0) }
        #expect(names["0"].wrong == 0 && names["1"].wrong == 1 && names["\(UnknownNames.maxCount)"].wrong == 1)
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
