import ArgumentParser
import Foundation
import MediaVault
import VaultService

/// The options that select titles by a common property.
struct TitleSelection: ParsableArguments {
    @Option(
        help: ArgumentHelp("All titles whose URL starts with this prefix.", valueName: "url"))
    var prefix: String?

    @Option(help: CollectionChoice.optionHelp)
    var collection: String?

    @Flag(help: "All titles.")
    var all = false

    /// Whether the options select titles.
    var isGiven: Bool { all || isPartial }

    /// Whether the options select some titles rather than all.
    var isPartial: Bool { prefix != nil || collection != nil }

    /// Checks that titles are named in only one way.
    ///
    /// - Parameters:
    ///   - titles: the titles that arguments name.
    ///   - naming: the options that apply only to named titles.
    func check(beside titles: [String], _ naming: ReferenceOptions, isRequired: Bool = true) throws {
        if isGiven, naming.contentID != nil || naming.headerFile != nil {
            throw ValidationError(
                "--content-id and --header-file need titles that are named, not --prefix, --collection or --all")
        }
        guard [!titles.isEmpty, all, prefix != nil, collection != nil].count(where: \.self) <= 1 else {
            throw ValidationError("name titles, or give --prefix, --collection or --all")
        }
        if isRequired, titles.isEmpty, !isGiven {
            throw ValidationError("no title given; give ids or URLs, or use --prefix, --collection or --all")
        }
        do {
            _ = try prefix.map { try Self.canonical($0) }
        } catch {
            throw ValidationError("--prefix: \(error)")
        }
    }

    /// Returns the selected titles of a vault: those of a collection in its order, others in no meaningful order.
    ///
    /// - Throws: ``VaultError`` with code `notHeld` if no title's URL begins with the prefix, or if there is no such
    ///   collection; `integrity` if some rows cannot be opened, because the titles in them might be selected.
    func titles(in vault: any VaultClient) async throws -> [ListedDocument] {
        let prefix = try prefix.map { try Self.canonical($0) }
        var members: [TitleID: Int]?
        if let collection {
            let ids = try await CollectionChoice.find(collection, in: vault).titles
            members = Dictionary(zip(ids, ids.indices)) { first, _ in first }
        }
        var titles: [ListedDocument] = []
        let damaged = try await vault.resources { title in
            let isChosen = prefix.map { (try? MediaURL(title.url))?.canonical.hasPrefix($0) == true } ?? true
            let isMember = members.map { members in title.id.map { members[$0] != nil } ?? false } ?? true
            if isChosen, isMember { titles.append(title) }
        }
        if let members { titles.sort { $0.id.flatMap { members[$0] } ?? 0 < $1.id.flatMap { members[$0] } ?? 0 } }
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

    /// Returns the ids of the selected titles, or the URLs of those without one, once the user has agreed to the act.
    ///
    /// - Throws: as ``titles(in:)``; ``UsageError`` if the user does not agree.
    func names(in vault: any VaultClient, asking consent: BulkConsent, to act: String) async throws -> [String] {
        let chosen = try await titles(in: vault)
        try await consent.ask(to: act, chosen)
        return chosen.map { $0.id?.description ?? $0.url }
    }

    /// Returns the canonical form of a prefix, for comparison with canonical URLs.
    static func canonical(_ prefix: String) throws -> String { try MediaURL(typed: prefix).canonical }
}

/// The question that the user must answer before a command changes many titles.
struct BulkConsent: ParsableArguments {
    @Flag(help: "Do not ask before --prefix, --collection or --all change titles.")
    var yes = false

    /// Asks the user whether to continue, unless the option already confirms this.
    ///
    /// - Parameter act: the verb for what is done with the titles, such as `remove`.
    /// - Throws: ``UsageError`` if there is no terminal for the question, or the answer is no.
    func ask(to act: String, _ titles: [ListedDocument]) async throws {
        guard !titles.isEmpty else { return }
        let size = ByteCount.text(titles.reduce(0) { $0 + $1.bytes })
        try await ask(to: act, "\(Count.of(titles.count, "title")), \(size)")
    }

    /// Asks the user whether to continue, unless the option already confirms this.
    ///
    /// - Parameters:
    ///   - act: the verb for what is done, such as `remove`.
    ///   - what: the object of that verb, such as `3 titles, 5 MB`.
    /// - Throws: as ``ask(to:_:)-([ListedDocument])``.
    func ask(to act: String, _ what: String) async throws {
        if !yes { try await Self.ask(to: act, what) }
    }

    /// Asks the user whether to continue.
    static func ask(to act: String, _ what: String) async throws {
        guard Terminal.shared.canPrompt else {
            throw UsageError("\(act) would change \(what); use --yes, or name them")
        }
        await Terminal.shared.say("\(act) \(what)? type y and press Enter")
        guard try await TypedAnswer.isYes() else { throw UsageError("nothing was changed") }
    }
}
