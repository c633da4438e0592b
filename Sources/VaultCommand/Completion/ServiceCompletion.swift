import ArgumentParser
import MediaVault
import VaultService

/// The completions that a shell offers for an argument, with words from the running service.
///
/// A completion never prompts for a key, never keeps the shell waiting for long, and prints nothing if it has no words.
enum ServiceCompletion {
    /// A closure that queries a service, and adds the words from its answer to the offers.
    typealias Question = @Sendable (RemoteVault, Offers) async throws -> Void

    /// The longest time to wait for an answer. The words that have arrived by then are offered.
    private static let patience: Duration = .milliseconds(900)

    /// Returns a completion that queries the service.
    static func kind(_ question: @escaping Question) -> CompletionKind {
        .custom { words, _, prefix async -> [String] in
            let offers = Offers(prefix: prefix)
            guard let folder = folder(named: words) else { return [] }
            let (ends, end) = AsyncStream<Void>.makeStream()
            Task {
                try? await question(RemoteVault(ControlClient(folder: folder)), offers)
                end.yield()
            }
            Task {
                try? await Task.sleep(for: patience)
                end.yield()
            }
            // The process ends once the words are printed, which also ends the slower of the two tasks.
            _ = await ends.first { _ in true }
            return offers.lines(for: CompletionShell.requesting)
        }
    }

    /// Returns the vault's folder, which the preceding words on the command line may name.
    static func folder(
        named words: [String], in environment: ProcessEnvironment = .current
    ) -> String? {
        var folder: String?
        for (index, word) in words.enumerated() {
            if word == "--vault", index + 1 < words.count { folder = words[index + 1] }
            if word.hasPrefix("--vault=") { folder = String(word.dropFirst("--vault=".count)) }
        }
        // The shell passes words as they were typed, so a tilde must be expanded here.
        if let typed = folder, typed.hasPrefix("~/"), let home = environment["HOME"] {
            folder = home + typed.dropFirst()
        }
        let place = try? PlaceOptions.parse(folder.map { ["--vault", $0] } ?? [])
        return try? place?.vault(in: environment)
    }

    /// The completion with the ids of the titles in the vault.
    static let titles = kind { vault, offers in
        var next: String?
        repeat {
            let page = try await vault.resources(after: next, limit: 1000)
            for title in page.resources { offers.add(title.id?.description, title.shownName) }
            next = page.next
        } while next != nil && !offers.isFull
    }

    /// The completion with the ids of the titles in the download queue.
    static let queue = kind { vault, offers in
        for download in try await vault.allDownloads().downloads where download.queued {
            offers.add(download.id.description, download.shownName)
        }
    }

    static let tokens = kind { vault, offers in
        for token in try await vault.call(Operations.Grants.tokens).tokens {
            offers.add(token.name, or: token.id, token.scope.rawValue)
        }
    }

    static let viewers = kind { vault, offers in
        for viewer in try await vault.call(Operations.Viewers.list).viewers {
            offers.add(viewer.name, or: viewer.id, "")
        }
    }

    static let collections = kind { vault, offers in
        for collection in try await vault.call(Operations.Collections.list).collections {
            offers.add(collection.name, or: collection.id, collection.kind.rawValue)
        }
    }

    static let links = kind { vault, offers in
        for link in try await vault.call(Operations.Grants.links).links { offers.add(link.name, or: link.id, link.url) }
    }

    static let sessions = kind { vault, offers in
        for session in try await vault.call(Operations.Grants.sessions).sessions {
            offers.add(session.id, session.browser ?? "")
        }
    }

    static let subscriptions = kind { vault, offers in
        for subscription in try await vault.call(Operations.Feeds.list).subscriptions {
            offers.add(subscription.id, subscription.name)
        }
    }

    /// The completion with the numbers of the key generations that have not been destroyed.
    static let generations = kind { vault, offers in
        for generation in try await vault.call(Operations.Keys.list).generations where generation.state != .retired {
            offers.add("\(generation.number)", generation.state.rawValue)
        }
    }
}

/// Collects the words that a shell may offer, each with a description.
final class Offers: Sendable {
    private let prefix: String
    private let found = Locked<[(word: String, description: String)]>([])

    /// The maximum number of words. Nobody reads more, and more would take a shell a long time.
    private static let most = 1000
    private static let longestDescription = 60

    /// - Parameter prefix: the beginning of the words to collect.
    init(prefix: String) { self.prefix = prefix }

    var isFull: Bool { found.withLock { $0.count >= Self.most } }

    /// Adds a word if it begins with the prefix and a shell takes it literally.
    func add(_ word: String?, _ description: String) {
        guard let word, word.hasPrefix(prefix), Self.isPlain(word) else { return }
        found.withLock { if $0.count < Self.most { $0.append((word, Self.plain(description))) } }
    }

    /// Adds a name, or the id if a shell might not take the name literally.
    func add(_ name: String?, or id: String, _ description: String) {
        if let name, Self.isPlain(name) { add(name, description) } else { add(id, name ?? description) }
    }

    /// Returns the lines that a shell's completion script reads, sorted by description.
    func lines(for shell: CompletionShell?) -> [String] {
        let all = found.withLock(\.self).sorted { ($0.description, $0.word) < ($1.description, $1.word) }
        let separator = shell == .zsh ? ":" : shell == .fish ? "\t" : nil
        return all.map { word, description in
            separator.map { description.isEmpty ? word : word + $0 + description } ?? word
        }
    }

    /// Returns whether a shell takes a word literally. Other words are unsafe, because bash expands the words that it
    /// completes.
    private static func isPlain(_ word: String) -> Bool {
        !word.isEmpty && !word.hasPrefix("-")
            && word.utf8.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F: true
                default: false
                }
            }
    }

    /// Returns a description in which only letters, digits, spaces and harmless punctuation are kept, because an origin
    /// may have chosen the name.
    private static func plain(_ description: String) -> String {
        String(
            description.prefix(longestDescription).map { letter in
                letter.isLetter || letter.isNumber || ",-._".contains(letter) ? letter : " "
            })
    }
}
