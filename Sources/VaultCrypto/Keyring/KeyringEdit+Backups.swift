extension KeyringEdit {
    /// Notes that one more backup holds each generation that is active.
    mutating func countBackup() {
        for index in document.generations.indices where document.generations[index].key != nil {
            document.generations[index].backups += 1
        }
    }
}
