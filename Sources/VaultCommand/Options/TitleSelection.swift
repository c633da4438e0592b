import ArgumentParser
import Foundation
import MediaVault
import VaultService

/// The options that choose titles by what they have in common.
struct TitleSelection: ParsableArguments {
    @Option(
        help: ArgumentHelp("All titles whose URL starts with this prefix.", valueName: "url"))
    var prefix: String?

    @Flag(help: "All titles.")
    var all = false

    /// Whether the options choose titles.
    var isGiven: Bool { all || prefix != nil }

    /// Checks that titles are named in one way.
    ///
    /// - Parameters:
    ///   - titles: the titles that arguments name.
    ///   - naming: the options that state something of named titles.
    func check(beside titles: [String], _ naming: ReferenceOptions, isRequired: Bool = true) throws {
        if isGiven, naming.contentID != nil || naming.headerFile != nil {
            throw ValidationError("--content-id and --header-file need titles that are named, not --prefix or --all")
        }
        guard [!titles.isEmpty, all, prefix != nil].count(where: \.self) <= 1 else {
            throw ValidationError("name titles, or give --prefix, or --all")
        }
        if isRequired, titles.isEmpty, !isGiven {
            throw ValidationError("no title given; give ids or URLs, or use --prefix or --all")
        }
        do {
            _ = try prefix.map { try Self.canonical($0) }
        } catch {
            throw ValidationError("--prefix: \(error)")
        }
    }

    /// Returns the chosen titles of a vault, in no meaningful order.
    ///
    /// - Throws: ``VaultError`` with code `notHeld` if the URL of none begins with the prefix, `integrity` if the rows of
    ///   some do not open: they might be among those that are meant.
    func titles(in vault: any VaultClient) async throws -> [ListedDocument] {
        let prefix = try prefix.map { try Self.canonical($0) }
        var titles: [ListedDocument] = []
        let damaged = try await vault.resources { title in
            let isChosen = prefix.map { (try? MediaURL(title.url))?.canonical.hasPrefix($0) == true } ?? true
            if isChosen { titles.append(title) }
        }
        guard damaged == 0 else {
            throw VaultError(
                .integrity, "\(Count.of(damaged, "title")) cannot be read, so nothing was done; repair the vault first",
                hint: .repair)
        }
        guard prefix == nil || !titles.isEmpty else {
            throw VaultError(.notHeld, "no title's URL begins with that prefix; give another", hint: .listTitles)
        }
        return titles
    }

    /// Returns the form of a prefix with which canonical URLs are compared.
    static func canonical(_ prefix: String) throws -> String { try MediaURL(typed: prefix).canonical }
}

/// A question that the user answers before many titles are changed.
struct BulkConsent: ParsableArguments {
    @Flag(help: "Do not ask before --prefix or --all change titles.")
    var yes = false

    /// Asks whether to go on, unless the option says so.
    ///
    /// - Parameter act: what would be done with the titles: `remove`.
    /// - Throws: ``UsageError`` if there is no terminal to ask at, or the answer is no.
    func ask(to act: String, _ titles: [ListedDocument]) async throws {
        guard !titles.isEmpty else { return }
        let size = ByteCount.text(titles.reduce(0) { $0 + $1.bytes })
        try await ask(to: act, "\(Count.of(titles.count, "title")), \(size)")
    }

    /// Asks whether to go on, unless the option says so.
    ///
    /// - Parameters:
    ///   - act: what would be done: `remove`.
    ///   - what: what it would be done with: `3 titles, 5 MB`.
    /// - Throws: as ``ask(to:_:)-([ListedDocument])``.
    func ask(to act: String, _ what: String) async throws {
        if !yes { try await Self.ask(to: act, what) }
    }

    /// Asks whether to go on.
    static func ask(to act: String, _ what: String) async throws {
        guard Terminal.shared.canPrompt else {
            throw UsageError("\(act) would change \(what); use --yes, or name them")
        }
        await Terminal.shared.say("\(act) \(what)? type y and press Enter")
        guard try await TypedAnswer.isYes() else { throw UsageError("nothing was changed") }
    }
}
