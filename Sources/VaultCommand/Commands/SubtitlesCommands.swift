import ArgumentParser
import Foundation
import MediaVault
import VaultService

struct SubtitlesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "subtitles", abstract: "Add subtitles to a title, or remove them.",
        discussion: "info lists the languages of what was added.",
        subcommands: [SubtitlesAddCommand.self, SubtitlesRemoveCommand.self])
}

struct SubtitlesAddCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add", abstract: "Add a file with subtitles to a title.",
        discussion: """
            FILE is SubRip (.srt) or WebVTT (.vtt) in UTF-8, at most 2 MiB. It is kept as WebVTT, sealed like everything \
            else about the title, goes when the title goes, and takes the place of what was added in the same language.
            """)

    @Argument(help: ArgumentHelp("Id or URL of the title.", valueName: "title"), completion: ServiceCompletion.titles)
    var title: String

    @Argument(
        help: ArgumentHelp("The subtitles.", valueName: "file"), completion: .file(extensions: ["srt", "vtt"]))
    var file: String

    @Option(
        help: ArgumentHelp(
            "Language, such as de (default: that of the file's name, as in film.de.srt).", valueName: "language"))
    var language: String?

    @OptionGroup var naming: ReferenceOptions

    @OptionGroup var owner: OwnerAccess

    func run() async throws {
        guard let language = language ?? SubtitleFile.language(of: file) else {
            throw UsageError("the file's name has no language; give --language")
        }
        let title = try TitleName(title)
        let naming = try await naming.naming(of: [title], owner.access.unlocking)
        let details = SubtitleDetails(language: language, text: try await SubtitleFile.text(of: file))
        try await owner.acting(ifInterrupted: "the subtitles may have been added") { vault in
            let id = try await vault.id(of: naming.reference(to: title, in: vault))
            try await vault.call(Operations.Titles.addSubtitles, TitleRequest(id, details))
        }
        await Terminal.shared.say("added subtitles in \(Terminal.printable(language))")
    }
}

struct SubtitlesRemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove", abstract: "Remove subtitles that were added to a title.", aliases: ["rm"])

    @Argument(help: ArgumentHelp("Id or URL of the title.", valueName: "title"), completion: ServiceCompletion.titles)
    var title: String

    @Argument(help: ArgumentHelp("Language, such as de.", valueName: "language"))
    var language: String

    @OptionGroup var naming: ReferenceOptions

    @OptionGroup var owner: OwnerAccess

    func run() async throws {
        let title = try TitleName(title)
        let naming = try await naming.naming(of: [title], owner.access.unlocking)
        let selection = SubtitleSelection(language: language)
        try await owner.acting(ifInterrupted: "the subtitles may have been removed") { vault in
            let id = try await vault.id(of: naming.reference(to: title, in: vault))
            try await vault.call(Operations.Titles.removeSubtitles, TitleRequest(id, selection))
        }
        await Terminal.shared.say("removed subtitles in \(Terminal.printable(language))")
    }
}

/// Files with subtitles.
enum SubtitleFile {
    /// The maximum number of files beside a film that are added.
    private static let maxBeside = 32
    /// The tag of an unknown language (RFC 5646 §4.1).
    private static let unknown = "und"

    /// Returns the text of a file.
    static func text(of file: String) async throws -> String {
        let source = try await ImportedFile.open(at: try ProcessEnvironment.current.absolute(file), as: "subtitle file")
        guard source.length <= Titles.maxSubtitleBytes else {
            throw UsageError("\(file) is larger than \(Titles.maxSubtitleBytes >> 20) MiB; give a file with subtitles")
        }
        var bytes: [UInt8] = []
        while let more = try await source.next() { bytes += more }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw UsageError("\(file) is not text in UTF-8; convert it")
        }
        return text
    }

    /// Returns the language in a name such as `film.de.srt`; nil if there is none.
    static func language(of path: String) -> String? {
        let parts = path.split(separator: "/").last?.split(separator: ".") ?? []
        guard parts.count > 2, let tag = parts.dropLast().last, (2...3).contains(tag.prefix { $0 != "-" }.count) else {
            return nil
        }
        return tag.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") } ? String(tag) : nil
    }

    /// Returns the files beside a film that are named after it, each with its language: `film.srt`, `film.de.vtt`.
    static func beside(_ film: String) -> [(path: String, language: String)] {
        let url = URL(filePath: film)
        let (folder, stem) = (url.deletingLastPathComponent().path, url.deletingPathExtension().lastPathComponent)
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        var found: [String: String] = [:]
        for other in names.sorted() where other.hasPrefix(stem + ".") && found.count < maxBeside {
            let rest = other.dropFirst(stem.count).split(separator: ".")
            guard let kind = rest.last?.lowercased(), ["srt", "vtt"].contains(kind), rest.count <= 2 else { continue }
            guard let language = rest.count == 1 ? unknown : language(of: other) else { continue }
            found[language] = found[language] ?? "\(folder)/\(other)"
        }
        return found.sorted { $0.key < $1.key }.map { ($0.value, $0.key) }
    }

    /// Adds the files beside a film to titles. One that cannot be used is named, and left out.
    static func addBeside(_ film: String, to titles: [MediaReference], in vault: any VaultClient) async throws {
        for file in beside(film) {
            let name = Terminal.printable(URL(filePath: file.path).lastPathComponent)
            do {
                let details = SubtitleDetails(language: file.language, text: try await text(of: file.path))
                for title in titles {
                    try await vault.call(Operations.Titles.addSubtitles, TitleRequest(vault.id(of: title), details))
                }
                await Terminal.shared.say("added subtitles: \(name)")
            } catch let error as VaultError where error.code == .invalidArgument || error.code == .storage {
                await Terminal.shared.say("left out \(name): \(error.message)")
            } catch let error as UsageError {
                await Terminal.shared.say("left out \(name): \(error.message)")
            }
        }
    }
}
