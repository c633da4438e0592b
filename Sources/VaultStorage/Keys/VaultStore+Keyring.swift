package import VaultCrypto

extension VaultStore {
    /// Changes the keyring, and notes in the index how new it is.
    ///
    /// - Parameters:
    ///   - isRemembered: whether the index demands a keyring as new as this from now on.
    ///   - lead: what is to be durable before the keyring is.
    /// - Throws: as ``Keyring/change(reading:writing:_:)``; what `lead` throws; ``VaultError`` where the index cannot be
    ///   written: then the file is the new one. Where it was a generation's row, this process goes on with the keys that it
    ///   had.
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
                // Before its keys are used here: what they wrap names the generation's row.
                try withDiskRoom { try index.addGeneration(current) }
            },
            { editing in
                let result = try edit(&editing)
                current = Int(editing.document.current)
                return result
            })
        if isRemembered { try withDiskRoom { try index.rememberKeyring() } }
        return result
    }
}
