extension KeyringEdit {
    /// Makes a backup the keyring that its vault takes.
    ///
    /// Playback addresses: each revision since may have revoked them once, so the epoch grows by as many.
    ///
    /// - Parameters:
    ///   - lastRevision: the highest that the vault has seen.
    ///   - retired: generations whose keys do not come back.
    ///   - current: the generation that new resources use.
    mutating func restore(after lastRevision: Int64, without retired: Set<Int>, current: Int) {
        let missed = max(0, lastRevision - document.revision)
        document.tokenEpoch += missed
        document.revision += missed + 1
        document.current = Int64(current)
        for index in document.generations.indices where retired.contains(Int(document.generations[index].number)) {
            document.generations[index].key = nil
        }
    }
}
