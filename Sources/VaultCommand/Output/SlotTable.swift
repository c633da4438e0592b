import VaultService

/// The slots of a keyring for a person to read: a line each.
enum SlotTable {
    static func text(_ slots: [KeyringListing.Slot]) -> String {
        let width = slots.map(\.method.count).max() ?? 0
        return slots.map { slot in
            let method = slot.method + String(repeating: " ", count: width - slot.method.count)
            return "\(slot.number)  \(method)  \(Terminal.printable(slot.label))\(cost(slot))\n"
        }.joined()
    }

    private static func cost(_ slot: KeyringListing.Slot) -> String {
        guard let passes = slot.opsLimit.value, let memory = slot.memLimit.value else { return "" }
        return " (\(passes) passes over \(memory >> 20) MiB)"
    }
}
