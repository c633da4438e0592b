/// The name of a credential that the service manager lends this process (systemd: `LoadCredentialEncrypted=`).
struct CredentialName: Hashable, Sendable {
    /// Where the service manager says it has put them.
    static let folderVariable = "CREDENTIALS_DIRECTORY"
    /// The name where none is said.
    static let standard = CredentialName(unchecked: "mediavault.key")

    private let name: String

    /// - Throws: ``UsageError`` where no file has such a name.
    init(_ name: String) throws {
        guard !name.isEmpty, name != ".", name != "..", name.utf8.count <= 255, !name.contains("/") else {
            throw UsageError("a credential has a name, and no path; name one that the unit loads")
        }
        self.name = name
    }

    private init(unchecked name: String) { self.name = name }

    /// The absolute path of its file.
    ///
    /// - Throws: ``UsageError`` where no service manager has lent any.
    func path(in surroundings: Surroundings) throws -> String {
        guard let folder = surroundings[Self.folderVariable], folder.hasPrefix("/") else {
            throw UsageError(
                "there are no credentials here: \(Self.folderVariable) is not set; run this in a unit that loads \(name)"
            )
        }
        return folder + "/" + name
    }
}
