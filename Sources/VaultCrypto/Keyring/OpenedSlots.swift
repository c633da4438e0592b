internal import VaultModel

/// The slots of a keyring, by whether what is at hand opens them: a new root key can be sealed for no others.
struct OpenedSlots {
    /// Those that open, in the keyring's order, each with its unlock key.
    let staying: [(slot: KeyringDocument.Slot, unlockKey: SharedKey)]
    /// Those that nothing at hand opens.
    let leftOut: [KeyringDocument.Slot]

    /// Tries secrets on the slots of a document. A passphrase takes most of a second for each passphrase slot.
    ///
    /// - Throws: ``VaultError`` with code `wrongKey` where a secret opens no slot, or there is none.
    init(of document: KeyringDocument, by secrets: [SharedSecret]) throws {
        var staying: [(slot: KeyringDocument.Slot, unlockKey: SharedKey)] = []
        var leftOut: [KeyringDocument.Slot] = []
        var used: Set<Int> = []
        for slot in document.slots {
            let data = try KeyringDocument.associatedData(.slot, vaultID: document.vaultID, number: slot.number)
            var opening: SharedKey?
            // The same secret may be given twice, as a file by two names: each is to open a slot, not each another.
            for (index, shared) in secrets.enumerated() where opening == nil || !used.contains(index) {
                guard let unlockKey = try shared.secret.unlockKey(for: slot),
                    try SealedValue.openKey(slot.rootKey, key: unlockKey, associatedData: data) != nil
                else { continue }
                opening = SharedKey(unlockKey)
                used.insert(index)
            }
            if let opening { staying.append((slot, opening)) } else { leftOut.append(slot) }
        }
        guard !staying.isEmpty, used.count == secrets.count else {
            throw VaultError(
                .wrongKey, "a key or passphrase that was given opens no slot of the keyring; give those that do")
        }
        self.staying = staying
        self.leftOut = leftOut
    }

    /// Checks that no slot is locked out against anybody's will.
    ///
    /// - Parameters:
    ///   - dropsOthers: whether slots that nothing at hand opens are to go.
    ///   - hasOtherKeys: whether somebody else brings keys of 32 bytes, too, which open no passphrase slot.
    /// - Throws: ``VaultError`` with code `invalidArgument`, which names the slots.
    func check(droppingOthers dropsOthers: Bool, besideOtherKeys hasOtherKeys: Bool = false) throws {
        let lost = dropsOthers ? [] : leftOut.filter { !hasOtherKeys || $0.passphrase != nil }
        guard !lost.isEmpty else { return }
        let names = lost.map { "\($0.number) (\($0.label), \($0.method.rawValue))" }.joined(separator: ", ")
        throw VaultError(
            .invalidArgument,
            "a new root key would lock these slots out: \(names); give what unlocks them, or drop them with --drop-slots"
        )
    }
}
