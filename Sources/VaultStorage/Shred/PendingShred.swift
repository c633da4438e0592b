import VaultCrypto

/// A resource whose keys are deleted, and whose receipt is not written yet: the vault's settings remember it until it is.
package struct PendingShred: Hashable, Sendable {
    /// What the receipt calls it: lower-case hex.
    package let subject: String
    /// Whether the generation is left as it is.
    package let isQuick: Bool

    package init(subject: String, isQuick: Bool) {
        self.subject = subject
        self.isQuick = isQuick
    }

    init?(_ object: JSONObject) {
        guard let subject = try? object.string("subject"), let isQuick = try? object.bool("quick") else { return nil }
        self.init(subject: subject, isQuick: isQuick)
    }

    var object: JSONObject { JSONObject(["subject": .string(subject), "quick": .bool(isQuick)]) }
}

extension VaultSettings {
    /// Shreds that have no receipt yet.
    package var pendingShreds: [PendingShred] {
        get { ((try? members.optionalObjects("shreds")) ?? []).compactMap { PendingShred($0) } }
        set { members["shreds"] = newValue.isEmpty ? nil : .array(newValue.map { .object($0.object.members) }) }
    }
}
