import VaultCrypto

// What is left to be sealed anew.
extension VaultSettings {
    /// The reseal that was begun and is not done; nil where there is none.
    package var resealOrder: ResealOrder? {
        get { members["reseal"].flatMap { try? JSONObject($0, name: "reseal") }.flatMap { ResealOrder($0) } }
        set { members["reseal"] = newValue.map { .object($0.object.members) } }
    }

    /// The number of the last reseal; 0 where there was none.
    package var lastResealRun: Int64 {
        get {
            guard case .integer(let run)? = members["resealRun"] else { return 0 }
            return run
        }
        set { members["resealRun"] = .integer(newValue) }
    }
}
