/// A person who sees the titles that the owner shares with them: a member of the family, a pupil.
///
/// It is a record, not a secret: the PIN cannot be read from it.
public struct Viewer: Hashable, Sendable {
    /// The id.
    public let id: ViewerID
    /// The name that the owner gave them and that they type to sign in; no other viewer has it.
    public package(set) var name: String
    /// When they were added, in seconds since 1970.
    public let created: Int64
    /// Whether every title is shared with them, including titles that are added later.
    public package(set) var sharesAll: Bool
    /// The verifier for their PIN; nil if they sign in only with a ticket from the owner.
    package var pin: PINVerifier?
    /// The failed tries to sign in with their name.
    package var tries: SignInTries
    /// The members of the record that this version does not know; a later version may have written them.
    private var others: [String: JSONValue] = [:]

    /// Maximum viewers per vault.
    package static let maxCount = 256

    package init(
        id: ViewerID, name: String, created: Int64, sharesAll: Bool, pin: PINVerifier? = nil,
        tries: SignInTries = SignInTries()
    ) {
        (self.id, self.name, self.created, self.sharesAll) = (id, name, created, sharesAll)
        (self.pin, self.tries) = (pin, tries)
    }

    /// Returns whether this record accepts a PIN that another record of the same viewer does not, or shares more.
    package func admitsMore(than other: Viewer) -> Bool {
        pin != nil && pin != other.pin || sharesAll && !other.sharesAll
    }

    /// Whether they have a PIN.
    public var hasPIN: Bool { pin != nil }

    /// The failed tries to sign in with their name, by place, the latest first.
    public var failedSignIns: [FailedSignIns] { tries.failures }

    /// Returns the form in which names are compared: people vary the case when they type them.
    package static func comparable(_ name: String) -> String { name.lowercased() }

    /// Checks a name.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` as ``AccessGrant/check(name:)`` does.
    package static func check(name: String) throws { try AccessGrant.check(name: name) }
}

/// The name of a viewer: 16 random bytes.
public typealias ViewerID = Identifier<ViewerKind>

/// Viewers: 16 bytes.
public enum ViewerKind: IdentifierKind {
    /// Sixteen.
    public static let byteCount = 16
}

/// The Argon2id hash that verifies a PIN, with the salt and the costs that it was derived with.
package struct PINVerifier: Hashable, Sendable {
    package let salt: [UInt8]
    /// Passes over the memory.
    package let passes: Int64
    /// Memory in bytes.
    package let memory: Int64
    package let hash: [UInt8]

    package static let (saltByteCount, hashByteCount) = (16, 32)
    /// The bounds of a stored cost, so that a changed row cannot demand a day or all memory.
    package static let (passBounds, memoryBounds): (ClosedRange<Int64>, ClosedRange<Int64>) =
        (1...16, (8 << 20)...(1 << 30))

    /// Creates a verifier; nil if a value is impossible.
    package init?(salt: [UInt8], passes: Int64, memory: Int64, hash: [UInt8]) {
        guard salt.count == Self.saltByteCount, hash.count == Self.hashByteCount, Self.passBounds.contains(passes),
            Self.memoryBounds.contains(memory)
        else { return nil }
        (self.salt, self.passes, self.memory, self.hash) = (salt, passes, memory, hash)
    }
}

// The sealed record.
extension Viewer {
    /// Reads a record; nil if it is malformed.
    package init?(id: ViewerID, _ record: JSONObject) {
        do {
            let name = try record.string("name")
            try Self.check(name: name)
            self.init(
                id: id, name: name, created: try record.integer("created"), sharesAll: try record.bool("all"))
            if let member = record["pin"] {
                guard let pin = PINVerifier(try JSONObject(member, name: "pin")) else { return nil }
                self.pin = pin
            }
            if let member = record["failures"] {
                guard let tries = SignInTries(try JSONObject(member, name: "failures")) else { return nil }
                self.tries = tries
            }
            others = record.members.filter { !Self.known.contains($0.key) }
        } catch {
            return nil
        }
    }

    /// The members of its record.
    package var record: JSONObject {
        var record = JSONObject(others)
        record["name"] = .string(name)
        record["created"] = .integer(created)
        record["all"] = .bool(sharesAll)
        record["pin"] = pin.map { .object($0.record.members) }
        record["failures"] = tries == SignInTries() ? nil : .object(tries.record.members)
        return record
    }

    /// The members that this version writes, and `tries`, in which former versions counted failed tries by name alone.
    private static let known: Set = ["name", "created", "all", "pin", "failures", "tries"]
}

extension PINVerifier {
    fileprivate init?(_ record: JSONObject) {
        guard let salt = try? record.base64("salt"), let passes = try? record.integer("passes"),
            let memory = try? record.integer("memory"), let hash = try? record.base64("hash")
        else { return nil }
        self.init(salt: salt, passes: passes, memory: memory, hash: hash)
    }

    fileprivate var record: JSONObject {
        JSONObject([
            "salt": .string(Base64.encode(salt)), "passes": .integer(passes), "memory": .integer(memory),
            "hash": .string(Base64.encode(hash)),
        ])
    }
}
