import Testing

@testable import VaultModel

@Suite("Viewers")
struct ViewerTests {
    private static func viewer() throws -> Viewer {
        var tries = SignInTries()
        for _ in 0..<6 { tries.noteWrong(from: .address([192, 0, 2, 1]), at: 1_700_000_000) }
        let device = try #require(DeviceID(bytes: Array(repeating: 5, count: 16)))
        tries.noteWrong(from: .device(device), address: [], at: 1_700_000_000)
        return Viewer(
            id: try #require(ViewerID(bytes: Array(repeating: 7, count: 16))), name: "Anna", created: 1_700_000_000,
            sharesAll: true,
            pin: PINVerifier(
                salt: Array(repeating: 1, count: 16), passes: 2, memory: 64 << 20, hash: Array(repeating: 2, count: 32)),
            tries: tries)
    }

    @Test("A record is read as it was written, also without a PIN and without a wrong try")
    func record() throws {
        var viewer = try Self.viewer()
        viewer.languages = ["de", "en-GB"]
        #expect(viewer.hasPIN && Viewer(id: viewer.id, viewer.record) == viewer)
        viewer.tries = SignInTries()
        viewer.tries.noteWrong(from: .address([]), at: 1_700_000_000)
        #expect(Viewer(id: viewer.id, viewer.record) == viewer)
        (viewer.pin, viewer.tries) = (nil, SignInTries())
        #expect(!viewer.hasPIN && Viewer(id: viewer.id, viewer.record) == viewer)
    }

    @Test(
        "A record with an impossible member is refused",
        arguments: [
            ("name", .string("two\nlines")), ("name", nil), ("created", nil), ("all", .integer(1)),
            ("languages", .array([.string("de/")])),
            ("pin", .object([:])), ("pin", .string("1234")), ("failures", .object([:])),
            ("failures", .object(["whole": .integer(-1), "places": .array([])])),
            ("failures", place("wrong", .integer(0))),
            ("failures", place("address", .string("AAA="))), ("failures", place("last", .integer(-1))),
            ("failures", place("device", .string("05"))), ("failures", place("until", .integer(-1))),
            ("failures", place(count: 17)),
            ("pin", .object(pin(passes: 17))), ("pin", .object(pin(memory: 1 << 40))), ("pin", .object(pin(salt: 15))),
        ] as [(String, JSONValue?)])
    func impossible(member: String, value: JSONValue?) throws {
        var record = try Self.viewer().record
        record[member] = value
        #expect(try Viewer(id: Self.viewer().id, record) == nil)
    }

    /// Failures at one place, or at several, with one member that is another.
    private static func place(_ member: String? = nil, _ value: JSONValue? = nil, count: Int = 1) -> JSONValue {
        var place: [String: JSONValue] = ["address": .string(""), "wrong": .integer(1), "last": .integer(5)]
        if let member { place[member] = value }
        return .object(["whole": .integer(0), "places": .array(Array(repeating: .object(place), count: count))])
    }

    @Test("Of a record, members of a later version stay, and a count by name alone is left out")
    func others() throws {
        var record = try Self.viewer().record
        record["later"] = .string("x")
        record["tries"] = .object(["wrong": .integer(500), "until": .integer(1_800_000_000)])
        record["failures"] = nil
        let read = try #require(try Viewer(id: Self.viewer().id, record))
        #expect(read.tries.wait(from: .address([]), at: 1_700_000_000) == 0)
        #expect(read.record["later"] == .string("x") && read.record["tries"] == nil)
    }

    private static func pin(passes: Int64 = 2, memory: Int64 = 64 << 20, salt: Int = 16) -> [String: JSONValue] {
        [
            "salt": .string(Base64.encode(Array(repeating: 1, count: salt))), "passes": .integer(passes),
            "memory": .integer(memory), "hash": .string(Base64.encode(Array(repeating: 1, count: 32))),
        ]
    }

    @Test("Names are compared without their capitals")
    func names() {
        #expect(Viewer.comparable("ANNA") == Viewer.comparable("anna"))
        #expect(Viewer.comparable("Anna") != Viewer.comparable("Anne"))
    }
}

@Suite("Playback positions")
struct PlaybackPositionTests {
    private static func title(_ number: Int) throws -> TitleID {
        let bytes = (0..<32).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
        return TitleID(of: try #require(ResourceID(bytes: bytes)))
    }

    private static func position(_ number: Int, _ seconds: Int64, at changed: Int64) throws -> PlaybackPosition {
        try #require(
            PlaybackPosition(title: title(number), position: seconds * 1000, duration: nil, changed: changed))
    }

    @Test("Of more than the maximum, those that were changed longest ago are forgotten")
    func bounded() throws {
        var positions = PlaybackPositions()
        for number in 0..<(PlaybackPosition.maxCount + 3) {
            positions.note(try Self.position(number, 1, at: Int64(1000 + number)))
        }
        let kept = positions.latestFirst
        #expect(kept.count == PlaybackPosition.maxCount && kept.last?.changed == 1003)
        #expect(kept.first?.changed == Int64(1002 + PlaybackPosition.maxCount))
        // A title that already has a position displaces no other.
        positions.note(try Self.position(5, 9, at: 9_000))
        #expect(positions.count == PlaybackPosition.maxCount && positions.latestFirst.first?.position == 9000)
    }

    @Test("They are read as they were written, and a record with an impossible one is refused")
    func record() throws {
        var positions = PlaybackPositions()
        positions.note(try Self.position(1, 70, at: 5))
        positions.note(
            try #require(PlaybackPosition(title: Self.title(2), position: 0, duration: 9, changed: 6)))
        #expect(PlaybackPositions(positions.record) == positions)
        let good = try #require(try positions.record.objects("positions").first)
        for (member, value) in [
            ("title", JSONValue.string("x")), ("position", .integer(-1)), ("position", .integer(36_000_000_001)),
            ("duration", .integer(-1)), ("changed", .integer(-1)), ("changed", .null),
        ] {
            var record = good
            record[member] = value
            #expect(
                PlaybackPositions(JSONObject(["positions": .array([.object(record.members)])])) == nil, "\(member)")
        }
        #expect(PlaybackPositions(JSONObject()) == nil)
    }

    @Test("A share is read as it was written, and one with an odd viewer or title is refused")
    func share() throws {
        let viewer = try #require(ViewerID(bytes: Array(repeating: 7, count: 16)))
        let share = TitleShare(title: try Self.title(3), viewers: [viewer])
        #expect(TitleShare(share.record) == share)
        for (member, value) in [
            ("title", JSONValue.string("x")), ("viewers", .array([.string("07")])), ("viewers", .string("x")),
        ] {
            var record = share.record
            record[member] = value
            #expect(TitleShare(record) == nil, "\(member)")
        }
    }
}
