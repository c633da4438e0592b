import MediaVault
import VaultService

/// A way to open the keyring, as options and environment name it.
enum UnlockWay: Hashable, Sendable {
    case keyFile(String)
    case passphraseFile(String)
    case keyCommand(String)
    case credential(CredentialName)
    /// Nothing was named: ask, where there is somebody to ask.
    case prompt

    /// What the library takes, asked for at the terminal where nothing is named.
    ///
    /// - Parameters:
    ///   - allowLoose: whether others may read a key or passphrase file.
    ///   - question: which passphrase is asked for.
    /// - Throws: ``VaultError`` with code `invalidArgument` for a credential where this process was lent none.
    func unlock(
        allowLoose: Bool, asking question: PassphrasePrompt.Question, in surroundings: Surroundings = .current
    ) async throws -> Unlock {
        switch self {
        case .keyFile(let path): .keyFile(path: path, allowLoose: allowLoose)
        case .passphraseFile(let path): .passphraseFile(path: path, allowLoose: allowLoose)
        case .keyCommand(let command): .keyCommand(command)
        case .credential(let name):
            .credential(path: try name.path(in: surroundings[CredentialName.folderVariable]))
        case .prompt: .passphrase(try await PassphrasePrompt.ask(question))
        }
    }
}
