import VaultCrypto

extension ResourceMetadata {
    /// The reseal in which the resource got the key in use; 0 for the key that it began with.
    var resealRun: Int64 {
        get {
            guard case .integer(let run)? = members["reseal"] else { return 0 }
            return run
        }
        set { members["reseal"] = .integer(newValue) }
    }
}
