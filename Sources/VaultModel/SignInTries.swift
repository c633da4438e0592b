/// From where someone signs in.
package enum SignInPlace: Hashable, Sendable {
    /// A network address: 4 bytes of IPv4, 8 of the network of an IPv6 address, none for this machine.
    case address([UInt8])
    /// A device on which the viewer has signed in before.
    case device(DeviceID)
}

/// The name of a device on which a viewer has signed in: 16 random bytes.
package typealias DeviceID = Identifier<DeviceKind>

/// Devices: 16 bytes.
package enum DeviceKind: IdentifierKind {
    package static let byteCount = 16
}

/// Wrong tries to sign in with one name from one place, for the owner.
public struct FailedSignIns: Hashable, Sendable {
    /// The network address from which the last one came: 4 bytes of IPv4, 8 of the network of an IPv6 address; none for
    /// this machine.
    public let address: [UInt8]
    /// Whether the place is a device on which the viewer has signed in before.
    public let isKnownDevice: Bool
    /// How many there were since someone last signed in from there.
    public let count: Int
    /// When the last one was, in seconds since 1970.
    public let last: Int64
    /// Until when no other is accepted, in seconds since 1970; nil if the next one is.
    public let until: Int64?
}

/// The wrong tries to sign in with one name, and until when no other is accepted.
///
/// Each address waits for its own wrong tries, so that no one at one address can keep a viewer out from another. Those
/// of all addresses together have a budget, so that nobody with many addresses can guess a PIN. A device on which the
/// viewer has signed in before waits for its own wrong tries alone.
package struct SignInTries: Hashable, Sendable {
    /// The places with wrong tries; the one with the latest is last.
    private var places: [Place] = []
    /// When the budget of all addresses is whole again, in seconds since 1970.
    private var whole: Int64 = 0

    /// How many wrong tries of a place are free.
    package static let free = 5
    /// The first and the longest wait of a place, in seconds.
    package static let (firstWait, longestWait): (Int64, Int64) = (30, 3600)
    /// How many wrong tries all addresses have together, and in how many seconds they get another one.
    ///
    /// One address has 12 wrong tries in its first hour, and one in each hour after that: less than the budget.
    package static let (budget, refill): (Int64, Int64) = (40, 2400)
    /// The most places that are remembered; of more, the one whose last try is longest ago is forgotten.
    package static let maxPlaces = 16
    /// After how many seconds without another wrong try those of a place are forgotten.
    package static let memory: Int64 = 30 * 86_400
    fileprivate static let maxWrong = 1_000_000

    /// No wrong try.
    package init() {}

    /// What the owner is shown, the latest first.
    package var failures: [FailedSignIns] {
        places.reversed().map {
            FailedSignIns(
                address: $0.address, isKnownDevice: $0.device != nil, count: $0.wrong, last: $0.last, until: $0.until)
        }
    }

    /// Returns for how many seconds no try from a place is accepted; 0 if one is.
    ///
    /// - Parameter now: seconds since 1970; a clock that was set back makes no wait longer than the longest.
    package func wait(from place: SignInPlace, at now: Int64) -> Int64 {
        let own = min(max(0, (places.first { $0.isAt(place) }?.until ?? 0) - now), Self.longestWait)
        guard case .address = place else { return own }
        let spent = min(max(0, whole - now), Self.budget * Self.refill)
        return max(own, spent - (Self.budget - 1) * Self.refill)
    }

    /// Takes back what a clock that was ahead has left: then no wait that has begun is longer than it was meant to be.
    ///
    /// It must be stored, because ``wait(from:at:)`` alone would begin the longest wait again at each try.
    ///
    /// - Returns: whether there was anything.
    package mutating func heal(at now: Int64) -> Bool {
        let before = self
        let latest = places.filter { $0.device == nil }.map(\.last).max() ?? 0
        // Without an address that tells how far ahead the clock was, the budget is used up, and fills again.
        whole = min(max(0, whole - max(0, latest - now)), now + Self.budget * Self.refill)
        for index in places.indices {
            let ahead = max(0, places[index].last - now)
            places[index].last -= ahead
            places[index].until = places[index].until.map { min(max(0, $0 - ahead), now + Self.longestWait) }
        }
        return self != before
    }

    /// Counts a wrong try: from the fifth of a place on, each wait is twice as long as the one before.
    ///
    /// - Parameter address: the address of a device.
    package mutating func noteWrong(from place: SignInPlace, address: [UInt8] = [], at now: Int64) {
        _ = heal(at: now)
        places.removeAll { $0.last < now - Self.memory }
        var noted = Place(place, address: address)
        if let known = places.firstIndex(where: { $0.isAt(place) }) { noted.wrong = places.remove(at: known).wrong }
        noted.wrong = min(noted.wrong + 1, Self.maxWrong)
        noted.last = now
        if noted.wrong >= Self.free {
            noted.until = now + min(Self.firstWait << Int64(min(noted.wrong - Self.free, 10)), Self.longestWait)
        }
        places.append(noted)
        if places.count > Self.maxPlaces { places.removeFirst() }
        guard case .address = place else { return }
        whole = min(max(whole, now), now + (Self.budget - 1) * Self.refill) + Self.refill
    }

    /// Forgets the wrong tries of a place from which someone has signed in; what they took of the budget stays taken.
    package mutating func noteRight(from place: SignInPlace) { places.removeAll { $0.isAt(place) } }
}

extension SignInTries {
    fileprivate struct Place: Hashable, Sendable {
        var address: [UInt8]
        var device: DeviceID?
        var wrong = 0
        var last: Int64 = 0
        var until: Int64?

        init(_ place: SignInPlace, address: [UInt8]) {
            switch place {
            case .address(let own): self.address = own
            case .device(let id): (self.address, device) = (address, id)
            }
        }

        func isAt(_ place: SignInPlace) -> Bool {
            switch place {
            case .address(let own): device == nil && address == own
            case .device(let id): device == id
            }
        }
    }
}

// The record as it is sealed.
extension SignInTries {
    /// Nil if it is not what a writer writes.
    init?(_ record: JSONObject) {
        guard let whole = try? record.integer("whole"), let objects = try? record.objects("places"), whole >= 0,
            objects.count <= Self.maxPlaces
        else { return nil }
        self.whole = whole
        for object in objects {
            guard let place = Place(object) else { return nil }
            places.append(place)
        }
    }

    var record: JSONObject {
        JSONObject(["whole": .integer(whole), "places": .array(places.map { .object($0.record.members) })])
    }
}

extension SignInTries.Place {
    fileprivate init?(_ record: JSONObject) {
        do {
            address = try record.base64("address")
            device = try record.optionalString("device").flatMap { DeviceID(hex: $0) }
            wrong = Int(clamping: try record.integer("wrong"))
            (last, until) = (try record.integer("last"), try record.optionalInteger("until"))
        } catch {
            return nil
        }
        guard [0, 4, 8].contains(address.count), (device == nil) == (record["device"] == nil), last >= 0,
            (1...SignInTries.maxWrong).contains(wrong), until ?? 0 >= 0
        else { return nil }
    }

    fileprivate var record: JSONObject {
        var record = JSONObject([
            "address": .string(Base64.encode(address)), "wrong": .integer(Int64(wrong)), "last": .integer(last),
        ])
        record["device"] = device.map { .string($0.hex) }
        record["until"] = until.map { .integer($0) }
        return record
    }
}
