import ArgumentParser
import MediaVault
import VaultService

struct CatCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cat",
        abstract: "Write a title's plaintext to standard output.",
        discussion: """
            What is not held is fetched and kept, unless --offline. A range is written as in HTTP: A-B names the \
            first and the last byte, A- goes to the end, -N is the last N bytes. A service that owns the vault reads \
            and fetches for this command.
            """)

    @Argument(help: "The title: http or https.")
    var url: String

    @Option(
        name: .customLong("range"), parsing: .unconditional,
        help: ArgumentHelp("Only these bytes: A-B, A- or -N.", valueName: "a-b"))
    var rangeText: String?

    @Flag(help: "Write what is held; never ask the origin.")
    var offline = false

    @OptionGroup var naming: ReferenceOptions

    @OptionGroup var access: VaultAccess

    @OptionGroup var waiting: WaitOption

    func run() async throws {
        let url = try MediaURL(url)
        let range = try rangeText.map(RangeArgument.parse) ?? .whole
        let reference = try await naming.reference(url, access.unlocking)
        guard !offline else {
            let opener = try await access.opener()
            return try await Interruption.cancelling {
                try await opener.reading { try await Self.write(reference, range, from: LocalVault($0)) }
            }
        }
        let finder = try await access.finder(waiting)
        try await Interruption.cancelling {
            do {
                try await finder.act { try await Self.write(reference, range, from: $0) }
            } catch let error as VaultError where error.code == .owned {
                // What is held already can be read beside the owner.
                try await finder.reading { vault in
                    guard try await vault.summary(of: reference)?.holds(range) == true else { throw error }
                    try await Self.write(reference, range, from: LocalVault(vault))
                }
            }
        }
    }

    private static func write(
        _ reference: MediaReference, _ range: RequestedRange, from vault: any VaultOperator
    ) async throws {
        try await vault.read(reference, range) { try await StandardOutput.shared.write($0) }
    }
}
