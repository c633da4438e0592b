import ArgumentParser
import Foundation
import MediaVault
import VaultService

struct ExportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Write complete titles to files, and HLS or DASH titles to folders.",
        discussion: """
            export TITLE FILE writes one title. export --to FOLDER TITLE… writes several, each under its name, and \
            prints the paths, with --json as an array; all are tried, and the exit code is that of the first failure. \
            An HLS or DASH title becomes a new folder: play index.m3u8 or manifest.mpd in it. The origin is never contacted. If bytes are \
            missing, nothing is created for the title and the exit code is 6.
            """)

    @Argument(
        help: ArgumentHelp("Id or URL of the title.", valueName: "title"), completion: ServiceCompletion.titles)
    var title: String?

    @Argument(
        help: ArgumentHelp(
            "The file or folder to create, readable by its owner only; with --to, more titles.", valueName: "file"),
        completion: .file())
    var others: [String] = []

    @Option(
        name: .customLong("to"),
        help: ArgumentHelp(
            "Folder to write titles into; created if only its last part is missing.", valueName: "folder"),
        completion: .directory)
    var folder: String?

    @Flag(help: "With --to: create the folders above it, too.")
    var makeFolders = false

    @OptionGroup var selection: TitleSelection

    @Flag(help: "Replace existing files.")
    var force = false

    @OptionGroup var naming: ReferenceOptions

    @OptionGroup var access: VaultAccess

    @Flag(help: "Print a JSON object, or with --to an array.")
    var json = false

    private var words: [String] { (title.map { [$0] } ?? []) + others }

    func validate() throws {
        guard folder == nil else { return try selection.check(beside: words, naming) }
        guard !selection.isGiven else { throw ValidationError("--prefix and --all need --to with a folder") }
        guard words.count == 2 else {
            throw ValidationError("give a title and the file to create, or --to with a folder, and titles")
        }
    }

    func run() async throws {
        if let folder { try await exportSeveral(to: folder) } else { try await exportOne(words[0], to: words[1]) }
    }

    private func exportOne(_ title: String, to file: String) async throws {
        guard file != "-" else { throw UsageError("export writes a file; use cat for standard output") }
        guard !file.isEmpty else { throw UsageError("the path of the file is empty; give one") }
        let name = try TitleName(title)
        let naming = try await naming.naming(of: [name], access.unlocking)
        let path = try ProcessEnvironment.current.absolute(file)
        let (opener, isForced) = (try await access.opener(), force)
        let reference = try await Interruption.cancelling("no file was created") {
            try await opener.reading { vault in
                let reference = try await naming.reference(to: name, in: LocalVault(vault))
                try await Self.export(reference, to: path, replacing: isForced, from: vault)
                return reference
            }
        }
        guard json else { return }
        let record = ExportRecord(url: reference.url.absoluteString, file: path)
        try await StandardOutput.shared.writeJSON(record)
    }

    private func exportSeveral(to folder: String) async throws {
        guard !folder.isEmpty else { throw UsageError("--to is empty; give it a folder") }
        let names = try words.map { try TitleName($0) }
        let naming = try await naming.naming(of: names, access.unlocking)
        let path = try ProcessEnvironment.current.absolute(folder)
        let (opener, selection, isForced, isDeep) = (try await access.opener(), selection, force, makeFolders)
        let (failed, records) = try await Interruption.cancelling("finished titles stay exported") { [json] in
            try await opener.reading { vault in
                let chosen =
                    selection.isGiven
                    ? try await selection.titles(in: LocalVault(vault)).compactMap(\.id).map(TitleName.id) : names
                try Self.makeFolder(path, isDeep: isDeep)
                var (files, failed, records) = (ExportNames(), ExitStatus?.none, [ExportRecord]())
                for name in chosen {
                    do {
                        let reference = try await naming.reference(to: name, in: LocalVault(vault))
                        let title = try await HeldTitle.summary(of: reference, in: LocalVault(vault))
                        let file = path + "/" + files.name(of: ListedDocument(title))
                        try await Self.export(reference, to: file, replacing: isForced, from: vault)
                        records.append(ExportRecord(url: title.url, file: file))
                        if !json { try await StandardOutput.shared.write(Terminal.printable(file) + "\n") }
                    } catch let error as VaultError {
                        try Task.checkCancellation()
                        await Terminal.shared.say(error.text)
                        failed = failed ?? ExitStatus(error.code)
                    }
                }
                return (failed, records)
            }
        }
        if json { try await StandardOutput.shared.writeJSON(records) }
        if let failed { throw AlreadyReported(status: failed) }
    }

    /// Creates the folder, which only its owner can read, unless it already exists.
    ///
    /// - Parameter isDeep: whether to create the folders above it, too. Otherwise they must exist, because a disk that is
    ///   not mounted leaves the same gap, and films would fill the disk below it.
    private static func makeFolder(_ path: String, isDeep: Bool) throws {
        let above = URL(filePath: path).deletingLastPathComponent().path
        guard isDeep || FileManager.default.fileExists(atPath: above) else {
            throw VaultError(
                .storage,
                "the folder \(above) does not exist, so \(path) is not created: mount the disk that belongs there, or "
                    + "create the folders with --make-folders")
        }
        do {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw VaultError(.storage, "\(path) cannot be created; give another folder")
        }
    }

    /// Exports a title while showing the progress.
    private static func export(
        _ reference: MediaReference, to path: String, replacing: Bool, from vault: Vault
    ) async throws {
        var display = ProgressDisplay(path.split(separator: "/").last.map(String.init) ?? path)
        try await vault.transfer.export(reference, to: path, replacing: replacing) { step in
            await display.show(TransferProgress(held: step.written, total: step.total))
        }
        await display.end()
    }
}

/// Chooses file names for several titles in one folder. Each name is used only once, and is allowed by every common
/// file system.
struct ExportNames {
    private var used: Set<String> = []

    /// The maximum number of bytes in a name before its extension. It is less than the 255 that file systems allow,
    /// because a title's id may be appended.
    private static let maxBytes = 180
    /// The characters that some file systems do not allow.
    private static let refused = Set("/\\:*?\"<>|".unicodeScalars)

    /// Returns the name of a title's file or folder, which is based on the title's own name, else on the last part of
    /// its URL.
    mutating func name(of title: ListedDocument) -> String {
        let place = (try? MediaURL(title.url))?.path.split(separator: "/").last.map(String.init) ?? ""
        let (stem, ending) = Self.split(place.removingPercentEncoding ?? place)
        // A title with several resources becomes a folder, so its name has no extension.
        let suffix = title.title == nil ? ending : ""
        let wanted = title.name.map {
            suffix.isEmpty || !Self.ends($0, suffix) ? $0 : String($0.dropLast(suffix.count))
        }
        let base = Self.cleaned(wanted ?? stem)
        let id = title.id.map { " \($0)" } ?? ""
        var (name, number) = (base + suffix, 1)
        while !used.insert(name.lowercased()).inserted {
            name = base + id + (number == 1 ? "" : " \(number)") + suffix
            number += 1
        }
        return name
    }

    private static func ends(_ name: String, _ suffix: String) -> Bool {
        name.lowercased().hasSuffix(suffix.lowercased())
    }

    /// Splits a file name before its extension, which is up to five letters and digits after a dot.
    private static func split(_ name: String) -> (stem: String, ending: String) {
        guard let dot = name.lastIndex(of: "."), dot > name.startIndex else { return (name, "") }
        let ending = name[dot...]
        guard (2...6).contains(ending.utf8.count), ending.dropFirst().utf8.allSatisfy(isLetterOrDigit) else {
            return (name, "")
        }
        return (String(name[..<dot]), String(ending))
    }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: false
        }
    }

    private static func cleaned(_ name: String) -> String {
        let printable = Terminal.printable(name).unicodeScalars.map { refused.contains($0) ? "-" : $0 }
        var text = String(String.UnicodeScalarView(printable)).drop { $0 == "." || $0 == " " }
        while text.utf8.count > maxBytes || text.last == "." || text.last == " " { text = text.dropLast() }
        return text.isEmpty ? "title" : String(text)
    }
}
