import ArgumentParser
import MediaVault

/// A backup of the keyring, and the passphrase that opens it.
struct BackupOptions: ParsableArguments {
    @Argument(help: ArgumentHelp("The backup's file.", valueName: "file"))
    var file: String

    @Option(help: ArgumentHelp("A file with the backup's passphrase, in place of typing it.", valueName: "file"))
    var backupPassphraseFile: String?

    /// The backup's absolute path.
    func path(in surroundings: Surroundings = .current) throws -> String {
        guard !file.isEmpty else { throw UsageError("the backup's file is empty; name a path") }
        return AbsolutePath.of(file, from: surroundings.workingDirectory)
    }

    /// What opens the backup.
    func unlock(isNew: Bool, allowLoose: Bool) async throws -> Unlock {
        let named = try UnlockOptions.ways(
            [("--key-file", nil), ("--backup-passphrase-file", backupPassphraseFile)], .current)
        return try await (named ?? .prompt).unlock(
            allowLoose: allowLoose, asking: isNew ? .newForBackup : .oldOfBackup)
    }
}
