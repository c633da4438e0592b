import MediaVault

/// What is asked of `POST /api/v1/rotations`: nothing but a new generation where all members are left out.
struct RotationOrder: Codable, Hashable, Sendable {
    /// Whether root key and token key are made anew, too.
    var root: Bool?
    /// Whether resource ids are computed anew instead.
    var locator: Bool?
    /// What opens the slots that stay when the root key is made anew.
    var slots: [SlotDocument]?
    /// Whether the other slots go then.
    var dropSlots: Bool?

    /// - Throws: ``VaultError`` with code `invalidArgument` where members exclude each other.
    func check() throws {
        guard root != true || locator != true else {
            throw VaultError(.invalidArgument, "root and locator are two acts; ask for one after the other")
        }
        guard root == true || (slots ?? []).isEmpty && dropSlots != true else {
            throw VaultError(.invalidArgument, "slots and dropSlots belong to a new root key; ask for root, too")
        }
    }
}
