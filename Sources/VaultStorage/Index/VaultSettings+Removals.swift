package import VaultModel

/// A recently removed title, which links created before its removal do not fetch.
///
/// This value contains only keyed hashes, so it reveals no more about a shredded title than the title's receipt does.
package struct RemovedTitle: Hashable, Sendable {
    /// The title's id.
    package let title: TitleID
    /// The first eight bytes of each removed resource's id. The title's own resource comes first, then the parts that
    /// were removed with it.
    package let ids: [UInt64]
    /// The time until which links do not fetch the title, in seconds since 1970.
    package let end: Int64

    package init(title: TitleID, ids: [UInt64], end: Int64) { (self.title, self.ids, self.end) = (title, ids, end) }

    /// Returns the number that identifies a resource in ``ids``.
    package static func mark(of id: ResourceID) -> UInt64 { id.bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) } }
}

/// A resource whose keys have been deleted, but whose receipt has not been written yet.
///
/// The vault's settings keep it until the receipt is written.
package struct PendingShred: Hashable, Sendable {
    /// The resource's name in the receipt, in lower-case hex.
    package let subject: String
    /// Whether the shred keeps the generations.
    package let isQuick: Bool
    /// The number of the last receipt before the shred; nil if that was not recorded.
    package let after: Int64?

    package init(subject: String, isQuick: Bool, after: Int64?) {
        self.subject = subject
        self.isQuick = isQuick
        self.after = after
    }

    init?(_ object: JSONObject) {
        guard let subject = try? object.string("subject"), let isQuick = try? object.bool("quick") else { return nil }
        self.init(subject: subject, isQuick: isQuick, after: try? object.optionalInteger("after"))
    }

    var object: JSONObject {
        var object = JSONObject(["subject": .string(subject), "quick": .bool(isQuick)])
        object["after"] = after.map { .integer($0) }
        return object
    }

    /// Returns whether the receipt for this shred has already been written.
    ///
    /// That is the case if the owner was killed after it wrote the receipt and before it removed the shred from the
    /// list.
    package func isNoted(in receipts: [Receipt]) -> Bool {
        guard let after else { return false }
        return receipts.contains { $0.act == .shred && $0.subject == subject && $0.sequence > after }
    }
}

// What removals leave in the settings.
extension VaultSettings {
    /// The maximum number of titles, and the maximum number of ids of one title. They are limited because the settings
    /// are sealed again with each segment's commit.
    private static let (maxRemovals, maxRemovedIDs) = (32, 1024)
    private static let bytesOfID = 8

    /// The most recently removed titles; an invalid member counts as absent.
    package var removals: [RemovedTitle] {
        get {
            ((try? members.optionalObjects("removals")) ?? []).compactMap { member in
                guard let title = (try? member.string("title")).flatMap({ TitleID($0) }),
                    let end = try? member.integer("end"),
                    let bytes = (try? member.string("ids")).flatMap({ Base64.decode($0) }),
                    !bytes.isEmpty, bytes.count.isMultiple(of: Self.bytesOfID)
                else { return nil }
                let ids = stride(from: 0, to: bytes.count, by: Self.bytesOfID).map { start in
                    bytes[start..<start + Self.bytesOfID].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
                }
                return RemovedTitle(title: title, ids: ids, end: end)
            }
        }
        set {
            let kept = newValue.suffix(Self.maxRemovals)
            members["removals"] =
                kept.isEmpty
                ? nil
                : .array(
                    kept.map { removed in
                        let bytes = removed.ids.prefix(Self.maxRemovedIDs).flatMap { id in
                            (0..<Self.bytesOfID).reversed().map { UInt8(truncatingIfNeeded: id >> (8 * UInt64($0))) }
                        }
                        return .object([
                            "title": .string(removed.title.description), "end": .integer(removed.end),
                            "ids": .string(Base64.encode(bytes)),
                        ])
                    })
        }
    }

    /// The shreds that have no receipt yet.
    package var pendingShreds: [PendingShred] {
        get { ((try? members.optionalObjects("shreds")) ?? []).compactMap { PendingShred($0) } }
        set { members["shreds"] = newValue.isEmpty ? nil : .array(newValue.map { .object($0.object.members) }) }
    }

    /// Adds a shred.
    ///
    /// The new shred replaces pending shreds of the same resource, because one receipt covers them all. It counts as
    /// quick only if all of them are quick.
    mutating func add(_ shred: PendingShred) {
        let same = pendingShreds.filter { $0.subject == shred.subject }
        pendingShreds.removeAll { $0.subject == shred.subject }
        pendingShreds.append(
            PendingShred(
                subject: shred.subject, isQuick: shred.isQuick && same.allSatisfy(\.isQuick), after: shred.after))
    }
}
