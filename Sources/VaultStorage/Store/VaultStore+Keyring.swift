package import VaultCrypto
import VaultModel

extension VaultStore {
    /// Changes the keyring, and records its revision in the index.
    ///
    /// - Parameters:
    ///   - isRemembered: whether the index then requires a keyring at least as new as this one.
    ///   - lead: makes durable what must be durable before the keyring.
    /// - Throws: as ``Keyring/change(reading:writing:_:)``; any error of `lead`; ``VaultError`` if the index cannot be
    ///   written, in which case the file is already the new one. If the row of a generation could not be written, this
    ///   process continues with the keys that it had.
    package func changeKeyring<Result>(
        at place: KeyringPlace, isRemembered: Bool = true, leading lead: () throws -> Void = {},
        _ edit: (inout KeyringEdit) throws -> Result
    ) throws -> Result {
        var current = 0
        let result = try keyring.change(
            reading: place.read,
            writing: { bytes in
                try lead()
                try place.write(bytes)
                // Before its keys are used here: what they wrap refers to the generation's row.
                try withDiskSpace { try index.addGeneration(current) }
            },
            { editing in
                let result = try edit(&editing)
                current = Int(editing.document.current)
                return result
            })
        if isRemembered { try withDiskSpace { try index.recordKeyringRevision() } }
        return result
    }
}
