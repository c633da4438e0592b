import MediaVault

/// Asks for the passphrase that opens the keyring.
enum PassphrasePrompt {
    /// - Parameter isNew: whether it is being chosen, and so is asked for twice.
    /// - Throws: ``UsageError`` where there is nobody to ask, nothing was typed, or the two do not agree.
    static func ask(isNew: Bool) async throws -> Passphrase {
        guard Terminal.shared.canAsk else {
            throw UsageError(
                "nothing opens the keyring; name --key-file, --passphrase-file or --key-command, or run this at a terminal"
            )
        }
        return try await Terminal.shared.blocking { terminal in
            // Both lines are typed straight into locked memory; only the first is kept.
            try unsafe Passphrase(capacity: 2 * Terminal.mostTyped) { memory in
                let first = unsafe UnsafeMutableRawBufferPointer(rebasing: memory[..<Terminal.mostTyped])
                let second = unsafe UnsafeMutableRawBufferPointer(rebasing: memory[Terminal.mostTyped...])
                let count = try unsafe terminal.readHidden(isNew ? "New passphrase: " : "Passphrase: ", into: first)
                guard count > 0 else { throw UsageError("no passphrase was given") }
                guard isNew else { return count }
                let again = try unsafe terminal.readHidden("The same again: ", into: second)
                guard unsafe first[..<count].elementsEqual(second[..<again]) else {
                    throw UsageError("the two passphrases differ; run the command again")
                }
                return count
            }
        }
    }
}
