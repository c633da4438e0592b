import Testing

@testable import VaultModel

@Suite("Wrong tries to sign in")
struct SignInTriesTests {
    private static let now: Int64 = 1_700_000_000
    private static let (here, there) = (SignInPlace.address([192, 0, 2, 1]), SignInPlace.address([192, 0, 2, 2]))

    private static func device(_ number: UInt8) throws -> SignInPlace {
        .device(try #require(DeviceID(bytes: Array(repeating: number, count: 16))))
    }

    @Test(
        "The fifth wrong try of a place waits 30 seconds, and each further one twice as long, up to an hour",
        arguments: [
            (0, 0), (1, 0), (4, 0), (5, 30), (6, 60), (7, 120), (8, 240), (9, 480), (10, 960), (11, 1920), (12, 3600),
            (30, 3600),
        ] as [(Int, Int64)])
    func waits(wrong: Int, seconds: Int64) throws {
        for place in [Self.here, try Self.device(1)] {
            var tries = SignInTries()
            for _ in 0..<wrong { tries.noteWrong(from: place, at: Self.now) }
            #expect(tries.failures.map(\.count) == (wrong == 0 ? [] : [wrong]))
            #expect(tries.wait(from: place, at: Self.now) == seconds)
            #expect(tries.wait(from: place, at: Self.now + max(0, seconds - 1)) == min(1, seconds))
            #expect(tries.wait(from: place, at: Self.now + seconds) == 0)
            // A clock that was set back by a year makes no one wait for a year.
            #expect(tries.wait(from: place, at: Self.now - 31_536_000) <= 3600)
        }
    }

    @Test(
        "What a clock that was ahead has left heals once it is right: the waits are as long as they were, and end",
        arguments: [(1, 0), (4, 0), (5, 30), (7, 120), (12, 3600), (30, 3600)] as [(Int, Int64)])
    func ahead(wrong: Int, seconds: Int64) throws {
        for ahead: Int64 in [1, 3600, 31_536_000] {
            for place in [Self.here, try Self.device(1)] {
                var tries = SignInTries()
                for _ in 0..<wrong { tries.noteWrong(from: place, at: Self.now + ahead) }
                let healed = [tries.heal(at: Self.now), tries.heal(at: Self.now), tries.heal(at: Self.now + 1)]
                #expect(healed == [true, false, false])
                #expect(tries.wait(from: place, at: Self.now) == seconds, "\(ahead)")
                #expect(tries.wait(from: place, at: Self.now + seconds) == 0, "\(ahead)")
                #expect(tries.failures.map(\.count) == [wrong])
                #expect(tries.failures.allSatisfy { $0.last == Self.now })
            }
        }
    }

    @Test("The budget of all addresses that a clock that was ahead has left is used up, and no more")
    func budgetAhead() {
        var tries = SignInTries()
        for number in 0..<40 {
            tries.noteWrong(from: .address([10, 0, 0, UInt8(number)]), at: Self.now + 31_536_000)
        }
        // No place is left that shows how far ahead the clock was.
        for number in 0..<40 { tries.noteRight(from: .address([10, 0, 0, UInt8(number)])) }
        let isHealed = tries.heal(at: Self.now)
        #expect(isHealed)
        #expect(tries.wait(from: Self.here, at: Self.now) == SignInTries.refill)
        #expect(tries.wait(from: Self.here, at: Self.now + SignInTries.refill) == 0)
    }

    @Test("One address that tries for a year keeps nobody out at another one, nor on a device that signed in before")
    func oneAddress() throws {
        var (tries, now) = (SignInTries(), Self.now)
        while now < Self.now + 31_536_000 {
            now += tries.wait(from: Self.here, at: now)
            tries.noteWrong(from: Self.here, at: now)
            #expect(tries.wait(from: Self.there, at: now) == 0)
        }
        #expect(try tries.wait(from: Self.device(1), at: now) == 0)
    }

    @Test("Ten thousand addresses try fewer than a fifth of all PINs of four digits in a month, and keep out no device")
    func manyAddresses() throws {
        var (tries, now, count) = (SignInTries(), Self.now, 0)
        while now < Self.now + 30 * 86_400 {
            let address = SignInPlace.address([10, 0, UInt8(count / 256 % 40), UInt8(count % 256)])
            now += tries.wait(from: address, at: now)
            tries.noteWrong(from: address, at: now)
            count += 1
            #expect(try tries.wait(from: Self.device(1), at: now) == 0)
        }
        #expect((500..<2000).contains(count), "\(count)")
        #expect(tries.wait(from: Self.there, at: now) > 0)
        // A clock that was set back makes no one wait for longer than it takes to regain an attempt.
        #expect(tries.wait(from: Self.there, at: Self.now - 31_536_000) == SignInTries.refill)
    }

    @Test("The wrong tries of a device take nothing from those of the addresses")
    func device() throws {
        var tries = SignInTries()
        for number in 0..<15 {
            for _ in 0..<4 { tries.noteWrong(from: try Self.device(UInt8(number)), at: Self.now) }
        }
        #expect(tries.wait(from: Self.here, at: Self.now) == 0)
        for _ in 0..<5 { tries.noteWrong(from: try Self.device(0), address: [192, 0, 2, 1], at: Self.now) }
        #expect(try tries.wait(from: Self.device(0), at: Self.now) > 0)
        #expect(try tries.wait(from: Self.device(1), at: Self.now) == 0)
        #expect(tries.wait(from: Self.here, at: Self.now) == 0)
    }

    @Test("A right PIN forgets the wrong tries of its place alone, and gives back nothing of what all have together")
    func right() {
        var tries = SignInTries()
        for _ in 0..<6 {
            tries.noteWrong(from: Self.here, at: Self.now)
            tries.noteWrong(from: Self.there, at: Self.now)
        }
        tries.noteRight(from: Self.here)
        #expect(tries.wait(from: Self.here, at: Self.now) == 0 && tries.wait(from: Self.there, at: Self.now) == 60)
        for _ in 12..<40 {
            tries.noteWrong(from: Self.here, at: Self.now)
            tries.noteRight(from: Self.here)
        }
        #expect(tries.wait(from: Self.here, at: Self.now) == SignInTries.refill)
    }

    @Test("The owner is shown the latest places first; those beyond the bound, and those of long ago, are forgotten")
    func shown() throws {
        var tries = SignInTries()
        for number in 0..<20 {
            tries.noteWrong(from: .address([10, 0, 0, UInt8(number)]), at: Self.now + Int64(number))
        }
        #expect(tries.failures.map { $0.address.last } == (4..<20).reversed().map { UInt8($0) })
        tries.noteWrong(from: .address([10, 0, 0, 9]), at: Self.now + 30)
        tries.noteWrong(from: try Self.device(1), address: [192, 0, 2, 1], at: Self.now + 31)
        let latest = tries.failures.prefix(2)
        #expect(latest.map(\.isKnownDevice) == [true, false] && latest.map(\.count) == [1, 2])
        #expect(latest.map(\.address) == [[192, 0, 2, 1], [10, 0, 0, 9]])
        tries.noteWrong(from: Self.here, at: Self.now + 32 + SignInTries.memory)
        #expect(tries.failures.map(\.address) == [[192, 0, 2, 1]])
    }
}
