import VaultCrypto
package import VaultModel

/// A resource whose keys are deleted, and whose receipt is not written yet: the vault's settings remember it until it is.
package struct PendingShred: Hashable, Sendable {
    /// What the receipt calls it: lower-case hex.
    package let subject: String
    /// Whether the generation is left as it is.
    package let isQuick: Bool
    /// The number of the last receipt before; nil where that was not noted.
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

    /// Whether its receipt is written all the same: who wrote it was killed before it was taken off the list.
    package func isNoted(in receipts: [Receipt]) -> Bool {
        guard let after else { return false }
        return receipts.contains { $0.act == .shred && $0.subject == subject && $0.sequence > after }
    }
}

extension VaultSettings {
    /// Shreds that have no receipt yet.
    package var pendingShreds: [PendingShred] {
        get { ((try? members.optionalObjects("shreds")) ?? []).compactMap { PendingShred($0) } }
        set { members["shreds"] = newValue.isEmpty ? nil : .array(newValue.map { .object($0.object.members) }) }
    }

    /// Adds a shred. One of the same resource that is on the list still is done by the same receipt, and as thoroughly.
    mutating func add(_ shred: PendingShred) {
        let same = pendingShreds.filter { $0.subject == shred.subject }
        pendingShreds.removeAll { $0.subject == shred.subject }
        pendingShreds.append(
            PendingShred(
                subject: shred.subject, isQuick: shred.isQuick && same.allSatisfy(\.isQuick), after: shred.after))
    }
}
