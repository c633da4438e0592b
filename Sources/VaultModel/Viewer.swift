/// A person, such as a family member or a pupil, who sees only the titles that the owner shares with them.
///
/// The value is a record and not a secret: the PIN cannot be read from it.
public struct Viewer: Hashable, Sendable {
    /// The viewer's id.
    public let id: ViewerID
    /// The name that the owner chose for them, which they type to sign in; it is unique among the viewers.
    public package(set) var name: String
    /// When the owner added them, in seconds since 1970.
    public let created: Int64
    /// Whether every title is shared with them, including titles that are added later.
    public package(set) var sharesAll: Bool
    /// The collections that are shared with them, including the titles that are added to these later.
    package var collections: Set<CollectionMark> = []
    /// The languages in which they want to hear and read titles, the favourite first; none means those of the vault.
    public package(set) var languages: [String] = []
    /// The verifier for their PIN; nil if they sign in only with a ticket from the owner.
    package var pin: PINVerifier?
    /// The failed attempts to sign in with their name.
    package var tries: SignInTries
    /// The record's members that this version does not know, which a later version may have written.
    private var others: [String: JSONValue] = [:]

    /// The maximum number of viewers in a vault.
    package static let maxCount = 256
    /// The maximum number of collections that are shared with one viewer.
    package static let maxCollections = 200

    package init(
        id: ViewerID, name: String, created: Int64, sharesAll: Bool, pin: PINVerifier? = nil,
        tries: SignInTries = SignInTries()
    ) {
        (self.id, self.name, self.created, self.sharesAll) = (id, name, created, sharesAll)
        (self.pin, self.tries) = (pin, tries)
    }

    /// Returns whether this record accepts a PIN that `other`, a record of the same viewer, does not, or shares more.
    package func admitsMore(than other: Viewer) -> Bool {
        pin != nil && pin != other.pin || sharesAll && !other.sharesAll || !collections.isSubset(of: other.collections)
    }

    /// The number of collections that are shared with them.
    public var collectionCount: Int { collections.count }

    /// Whether they have a PIN.
    public var hasPIN: Bool { pin != nil }

    /// The failed attempts to sign in with their name, grouped by place, the latest first.
    public var failedSignIns: [FailedSignIns] { tries.failures }

    /// Returns the form in which names are compared, because people vary the case when they type them.
    package static func comparable(_ name: String) -> String { name.lowercased() }

    /// Checks a viewer's name.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` under the same conditions as ``AccessGrant/check(name:)``.
    package static func check(name: String) throws { try AccessGrant.check(name: name) }
}

/// Identifies a viewer: 16 random bytes.
public typealias ViewerID = Identifier<ViewerKind>

/// The kind of identifier that names viewers.
public enum ViewerKind: IdentifierKind {
    /// The number of bytes in a viewer's identifier.
    public static let byteCount = 16
}

/// The Argon2id hash against which a PIN is verified, with the salt and the costs used to derive it.
package struct PINVerifier: Hashable, Sendable {
    package let salt: [UInt8]
    /// The number of passes over the memory.
    package let passes: Int64
    /// The amount of memory, in bytes.
    package let memory: Int64
    package let hash: [UInt8]

    package static let (saltByteCount, hashByteCount) = (16, 32)
    /// The bounds of the stored costs, so that a row that was tampered with cannot demand a day's work or all of the
    /// memory.
    package static let (passBounds, memoryBounds): (ClosedRange<Int64>, ClosedRange<Int64>) =
        (1...16, (8 << 20)...(1 << 30))

    /// Creates a verifier; nil if a length is wrong or a cost is out of bounds.
    package init?(salt: [UInt8], passes: Int64, memory: Int64, hash: [UInt8]) {
        guard salt.count == Self.saltByteCount, hash.count == Self.hashByteCount, Self.passBounds.contains(passes),
            Self.memoryBounds.contains(memory)
        else { return nil }
        (self.salt, self.passes, self.memory, self.hash) = (salt, passes, memory, hash)
    }
}

// Conversion to and from the sealed record.
extension Viewer {
    /// Creates a viewer from their record; nil if the record is malformed.
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
            if record["collections"] != nil {
                let marks = try record.strings("collections").map {
                    Base64.decode($0).flatMap { CollectionMark(bytes: $0) }
                }
                guard marks.count <= Self.maxCollections, !marks.contains(nil) else { return nil }
                collections = Set(marks.compactMap(\.self))
            }
            if record["languages"] != nil {
                languages = try record.strings("languages")
                try LanguageList.check(languages)
            }
            others = record.members.filter { !Self.known.contains($0.key) }
        } catch {
            return nil
        }
    }

    /// The members of the viewer's record.
    package var record: JSONObject {
        var record = JSONObject(others)
        record["name"] = .string(name)
        record["created"] = .integer(created)
        record["all"] = .bool(sharesAll)
        let marks = collections.map { Base64.encode($0.bytes) }.sorted()
        record["collections"] = marks.isEmpty ? nil : .array(marks.map { .string($0) })
        record["languages"] = languages.isEmpty ? nil : .array(languages.map { .string($0) })
        record["pin"] = pin.map { .object($0.record.members) }
        record["failures"] = tries == SignInTries() ? nil : .object(tries.record.members)
        return record
    }

    /// The members that this version writes, and `tries`, in which earlier versions counted failures by name alone.
    private static let known: Set = ["name", "created", "all", "collections", "languages", "pin", "failures", "tries"]
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
