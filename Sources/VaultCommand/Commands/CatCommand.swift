import ArgumentParser
import MediaVault
import VaultService

struct CatCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cat",
        abstract: "Write a title's plaintext to standard output.",
        discussion: """
            Missing bytes are fetched and stored, unless --offline is given. A range is written as in HTTP: A-B is \
            the first and the last byte, A- goes to the end, -N is the last N bytes. If a service owns the vault, it \
            reads and fetches for this command.
            """)

    @Argument(help: ArgumentHelp("Id or URL of the title.", valueName: "title"), completion: ServiceCompletion.titles)
    var title: String

    @Option(
        name: .customLong("range"), parsing: .unconditional,
        help: ArgumentHelp("Only these bytes: A-B, A- or -N.", valueName: "a-b"))
    var rangeText: String?

    @Flag(help: "Write only held bytes; never contact the origin.")
    var offline = false

    @OptionGroup var naming: ReferenceOptions

    @OptionGroup var owner: OwnerAccess

    func run() async throws {
        let name = try TitleName(title)
        let range = try rangeText.map(RangeArgument.parse) ?? .whole
        let naming = try await naming.naming(of: [name], owner.access.unlocking)
        guard !offline else {
            let opener = try await owner.access.opener()
            return try await Interruption.cancelling {
                try await opener.reading { vault in
                    let vault = LocalVault(vault)
                    try await Self.write(naming.reference(to: name, in: vault), range, from: vault)
                }
            }
        }
        let connector = try await owner.connector()
        let isOpen = Locked(false)
        try await Interruption.cancelling {
            do {
                try await connector.act { vault in
                    isOpen.withLock { $0 = true }
                    try await Self.write(naming.reference(to: name, in: vault), range, from: vault)
                }
            } catch let error as VaultError
                where error.code == .owned || error.hint == .writablePath && !isOpen.withLock({ $0 })
            {
                // Held bytes can be read even alongside the owner, or on a read-only file system.
                try await connector.reading { vault in
                    let reference = try await naming.reference(to: name, in: LocalVault(vault))
                    guard try await vault.titles.summary(of: reference)?.holds(range) == true else { throw error }
                    try await Self.write(reference, range, from: LocalVault(vault))
                }
            }
        }
    }

    private static func write(
        _ reference: MediaReference, _ range: RequestedRange, from vault: any VaultClient
    ) async throws {
        try await vault.read(reference, range) { try await StandardOutput.shared.write($0) }
    }
}
