/// The place from which someone signs in.
package enum SignInPlace: Hashable, Sendable {
    /// A network address: the 4 bytes of an IPv4 address, the 8 of an IPv6 address's network, none for this machine.
    case address([UInt8])
    /// A device on which the viewer has signed in before.
    case device(DeviceID)
}

/// Identifies a device on which a viewer has signed in: 16 random bytes.
package typealias DeviceID = Identifier<DeviceKind>

/// The kind of identifier that names devices: 16 bytes.
package enum DeviceKind: IdentifierKind {
    package static let byteCount = 16
}

/// The failed attempts to sign in with one name from one place, as reported to the owner.
public struct FailedSignIns: Hashable, Sendable {
    /// The network address of the last failed attempt: the 4 bytes of an IPv4 address, the 8 of an IPv6 address's
    /// network, or none for this machine.
    public let address: [UInt8]
    /// Whether the place is a device on which the viewer has signed in before.
    public let isKnownDevice: Bool
    /// The number of failed attempts since the last successful sign-in from that place.
    public let count: Int
    /// When the last attempt failed, in seconds since 1970.
    public let last: Int64
    /// The time before which no further attempt is accepted, in seconds since 1970; nil if there is no wait.
    public let until: Int64?
}

/// The failed attempts to sign in with one name, and the waits that they cause.
///
/// An address waits only for its own failed attempts, so that nobody can lock a viewer out at another address. All
/// addresses share a budget of failed attempts, so that an attacker with many addresses cannot guess a PIN. A device on
/// which the viewer has signed in before waits only for its own failed attempts.
package struct SignInTries: Hashable, Sendable {
    /// The places with failed attempts, ordered by their latest attempt, most recent last.
    private var places: [Place] = []
    /// When the addresses' shared budget will be full again, in seconds since 1970.
    private var whole: Int64 = 0

    /// The number of failed attempts after which a place has to wait for the first time.
    package static let free = 5
    /// The first and the longest wait imposed on a place, in seconds.
    package static let (firstWait, longestWait): (Int64, Int64) = (30, 3600)
    /// The number of failed attempts that all addresses share, and how long, in seconds, it takes to regain one.
    ///
    /// A single address can fail 11 times in its first hour and once per hour after that, less than the budget allows.
    package static let (budget, refill): (Int64, Int64) = (40, 2400)
    /// The maximum number of places remembered; beyond it, the place with the oldest last attempt is forgotten.
    package static let maxPlaces = 16
    /// How long, in seconds, a place is remembered after its last failed attempt.
    package static let memory: Int64 = 30 * 86_400
    fileprivate static let maxWrong = 1_000_000

    /// Creates a state without failed attempts.
    package init() {}

    /// The failed attempts as shown to the owner, the latest first.
    package var failures: [FailedSignIns] {
        places.reversed().map {
            FailedSignIns(
                address: $0.address, isKnownDevice: $0.device != nil, count: $0.wrong, last: $0.last, until: $0.until)
        }
    }

    /// Returns how long, in seconds, it takes until an attempt from a place is accepted; 0 if it is accepted at once.
    ///
    /// - Parameter now: seconds since 1970; a clock that was set back makes no wait longer than ``longestWait``.
    package func wait(from place: SignInPlace, at now: Int64) -> Int64 {
        let own = min(max(0, (places.first { $0.isAt(place) }?.until ?? 0) - now), Self.longestWait)
        guard case .address = place else { return own }
        let spent = min(max(0, whole - now), Self.budget * Self.refill)
        return max(own, spent - (Self.budget - 1) * Self.refill)
    }

    /// Corrects times that were recorded while the clock was ahead, so that no current wait is longer than intended.
    ///
    /// The caller must store the result. With ``wait(from:at:)`` alone, the longest wait would restart at each attempt.
    ///
    /// - Returns: whether anything changed.
    package mutating func heal(at now: Int64) -> Bool {
        let before = self
        let latest = places.filter { $0.device == nil }.map(\.last).max() ?? 0
        // If no address shows how far ahead the clock was, the budget is treated as used up, and refills from now.
        whole = min(max(0, whole - max(0, latest - now)), now + Self.budget * Self.refill)
        for index in places.indices {
            let ahead = max(0, places[index].last - now)
            places[index].last -= ahead
            places[index].until = places[index].until.map { min(max(0, $0 - ahead), now + Self.longestWait) }
        }
        return self != before
    }

    /// Records a failed attempt. From a place's fifth on, each wait is twice the previous one, up to ``longestWait``.
    ///
    /// - Parameter address: the network address from which a device tried to sign in.
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

    /// Forgets a place's failed attempts after a successful sign-in there. They still count against the budget.
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

// Conversion to and from the sealed record.
extension SignInTries {
    /// Creates the state from its record; nil if the record is malformed.
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
