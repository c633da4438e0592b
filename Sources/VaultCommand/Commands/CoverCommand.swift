import ArgumentParser
import MediaVault
import VaultService

struct CoverCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cover",
        abstract: "Give a title a cover.",
        discussion: """
            FILE is a JPEG, PNG or WebP picture of at most 1 MiB, which is sealed like everything else about the title, \
            and goes when the title goes. Without a picture of its own, a title has the one within its media, if there \
            is one: the cover of an MP4, an MP3, a FLAC, an Opus or a Vorbis file.
            """)

    @Argument(help: ArgumentHelp("Id or URL of the title.", valueName: "title"), completion: ServiceCompletion.titles)
    var title: String

    @Argument(
        help: ArgumentHelp("The picture.", valueName: "file"),
        completion: .file(extensions: ["jpg", "jpeg", "png", "webp"]))
    var file: String?

    @Flag(help: "Remove the cover that you set.")
    var remove = false

    @OptionGroup var naming: ReferenceOptions

    @OptionGroup var owner: OwnerAccess

    @OptionGroup var output: JSONOption

    func validate() throws {
        guard (file == nil) == remove else {
            throw ValidationError(remove ? "--remove needs no picture; leave it out" : "no picture given; give a file")
        }
    }

    func run() async throws {
        let title = try TitleName(title)
        let naming = try await naming.naming(of: [title], owner.access.unlocking)
        var picture: [UInt8]?
        if let file { picture = try await CoverFile.bytes(of: file) }
        let cover = picture
        let changed = try await owner.acting(ifInterrupted: "the cover may have changed") { vault in
            let reference = try await naming.reference(to: title, in: vault)
            try await vault.setCover(cover, of: reference)
            return try await vault.resource(reference)
        }
        guard let changed else { return }
        let shown = remove ? "without a cover of its own" : "has its cover"
        try await output.write(
            ListedDocument(changed),
            orText: Terminal.printable("\(changed.id.map { "\($0)" } ?? changed.url): \(shown)") + "\n")
    }
}
