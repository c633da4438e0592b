import MediaVault

/// Asks for a passphrase that opens the keyring.
enum PassphrasePrompt {
    /// Which passphrase is asked for.
    enum Question: Sendable {
        /// The one that opens it now.
        case old
        /// The one that will open a new keyring.
        case first
        /// The one that will open it, too or from then on.
        case new
        case oldOfBackup
        case newForBackup

        /// Whether it is being chosen, and so is asked for twice.
        var isNew: Bool { self != .old && self != .oldOfBackup }

        fileprivate var text: String {
            switch self {
            case .old: "Passphrase: "
            case .first, .new: "New passphrase: "
            case .oldOfBackup: "Passphrase of the backup: "
            case .newForBackup: "New passphrase for the backup: "
            }
        }

        /// What to do where there is nobody to ask.
        fileprivate var remedy: String {
            switch self {
            case .old, .first:
                "nothing opens the keyring; name --key-file, --passphrase-file, --key-command or --credential"
            case .new:
                "nothing is named that will open the keyring; name --new-key-file, --new-passphrase-file, "
                    + "--new-key-command or --new-credential"
            case .oldOfBackup, .newForBackup: "the backup's passphrase is not named; name --backup-passphrase-file"
            }
        }
    }

    /// - Throws: ``UsageError`` where there is nobody to ask, nothing was typed, or the two do not agree.
    static func ask(_ question: Question) async throws -> Passphrase {
        guard Terminal.shared.canAsk else { throw UsageError(question.remedy + ", or run this at a terminal") }
        return try await Terminal.shared.blocking { terminal in
            // Both lines are typed straight into locked memory; only the first is kept.
            try unsafe Passphrase(capacity: 2 * Terminal.mostTyped) { memory in
                let first = unsafe UnsafeMutableRawBufferPointer(rebasing: memory[..<Terminal.mostTyped])
                let second = unsafe UnsafeMutableRawBufferPointer(rebasing: memory[Terminal.mostTyped...])
                let count = try unsafe terminal.readHidden(question.text, into: first)
                guard count > 0 else { throw UsageError("no passphrase was given") }
                guard question.isNew else { return count }
                let again = try unsafe terminal.readHidden("The same again: ", into: second)
                guard unsafe first[..<count].elementsEqual(second[..<again]) else {
                    throw UsageError("the two passphrases differ; run the command again")
                }
                return count
            }
        }
    }
}
