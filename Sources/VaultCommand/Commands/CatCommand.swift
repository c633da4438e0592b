import ArgumentParser
import MediaVault

struct CatCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cat",
        abstract: "Write a title's plaintext to standard output.",
        discussion: """
            What is not held is fetched and kept, unless --offline. A range is written as in HTTP: A-B names the \
            first and the last byte, A- goes to the end, -N is the last N bytes.
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

    func run() async throws {
        let url = try MediaURL(url)
        let range = try rangeText.map(RangeArgument.parse) ?? .whole
        let reference = try await naming.reference(url, access.unlocking)
        let opener = try await access.opener()
        let isOffline = offline
        try await Interruption.cancelling {
            if isOffline {
                try await opener.reading { try await Self.write(reference, range, from: $0) }
            } else {
                try await Self.writeFetching(reference, range, opener)
            }
        }
    }

    private static func writeFetching(
        _ reference: MediaReference, _ range: RequestedRange, _ opener: VaultOpener
    ) async throws {
        do {
            try await opener.owning { try await write(reference, range, from: $0) }
        } catch let error as VaultError where error.code == .owned {
            // What is held already can be read beside the owner.
            try await opener.reading { vault in
                guard try await vault.summary(of: reference)?.holds(range) == true else { throw error }
                try await write(reference, range, from: vault)
            }
        } catch let error as VaultError {
            throw error.online
        }
    }

    private static func write(_ reference: MediaReference, _ range: RequestedRange, from vault: Vault) async throws {
        let reader = try await vault.read(reference, range: range)
        defer { reader.cancel() }
        var window = try ByteWindow(range, of: reader)
        while !window.isDone, let bytes = try await reader.next() {
            try await StandardOutput.shared.write(window.cut(bytes))
        }
        try Task.checkCancellation()
        try window.check()
        if reader.isShortened, let missing = reader.range?.upperBound {
            var error = VaultError(
                .notHeld, "\(reference) is held only up to byte \(missing), and the rest cannot be fetched now")
            error.firstMissing = missing
            throw error
        }
    }
}
