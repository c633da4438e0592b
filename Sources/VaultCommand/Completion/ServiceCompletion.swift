import ArgumentParser
import MediaVault
import VaultService

/// The words that a shell offers for an argument, from the running service.
///
/// Completion never prompts for a key, never keeps the shell waiting for long, and prints nothing if it has no words.
enum ServiceCompletion {
    /// Queries a service, and adds the words from its answer.
    typealias Question = @Sendable (RemoteVault, Offers) async throws -> Void

    /// The longest wait for an answer; the words that arrived by then are offered.
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
            // The process ends after the answer, and ends the slower task with it.
            _ = await ends.first { _ in true }
            return offers.lines(for: CompletionShell.requesting)
        }
    }

    /// Returns the vault's folder, which the preceding words may name.
    static func folder(
        named words: [String], in environment: ProcessEnvironment = .current
    ) -> String? {
        var folder: String?
        for (index, word) in words.enumerated() {
            if word == "--vault", index + 1 < words.count { folder = words[index + 1] }
            if word.hasPrefix("--vault=") { folder = String(word.dropFirst("--vault=".count)) }
        }
        // The shell passes words as typed.
        if let typed = folder, typed.hasPrefix("~/"), let home = environment["HOME"] {
            folder = home + typed.dropFirst()
        }
        let place = try? PlaceOptions.parse(folder.map { ["--vault", $0] } ?? [])
        return try? place?.vault(in: environment)
    }

    /// Held titles, by their ids.
    static let titles = kind { vault, offers in
        var next: String?
        repeat {
            let page = try await vault.resources(after: next, limit: 1000)
            for title in page.resources { offers.add(title.id?.description, title.shownName) }
            next = page.next
        } while next != nil && !offers.isFull
    }

    /// Titles in the download queue, by their ids.
    static let queue = kind { vault, offers in
        for download in try await vault.allDownloads().downloads where download.queued {
            offers.add(download.id.description, download.shownName)
        }
    }

    static let tokens = kind { vault, offers in
        for token in try await vault.tokens().tokens { offers.add(token.name, or: token.id, token.scope.rawValue) }
    }

    static let viewers = kind { vault, offers in
        for viewer in try await vault.viewers().viewers { offers.add(viewer.name, or: viewer.id, "") }
    }

    static let links = kind { vault, offers in
        for link in try await vault.links().links { offers.add(link.name, or: link.id, link.url) }
    }

    static let sessions = kind { vault, offers in
        for session in try await vault.sessions().sessions { offers.add(session.id, session.browser ?? "") }
    }

    static let subscriptions = kind { vault, offers in
        for subscription in try await vault.subscriptions().subscriptions {
            offers.add(subscription.id, subscription.name)
        }
    }

    /// Key generations that are not destroyed.
    static let generations = kind { vault, offers in
        for generation in try await vault.keys().generations where generation.state != .retired {
            offers.add("\(generation.number)", generation.state.rawValue)
        }
    }
}

/// Collects the words that a shell may offer, each with a description.
final class Offers: Sendable {
    private let prefix: String
    private let found = Locked<[(word: String, description: String)]>([])

    /// Maximum words: nobody reads more, and a shell takes long for them.
    private static let most = 1000
    private static let longestDescription = 60

    /// - Parameter prefix: the beginning of the words to collect.
    init(prefix: String) { self.prefix = prefix }

    var isFull: Bool { found.withLock { $0.count >= Self.most } }

    /// Adds a word if it has the prefix and a shell takes it literally.
    func add(_ word: String?, _ description: String) {
        guard let word, word.hasPrefix(prefix), Self.isPlain(word) else { return }
        found.withLock { if $0.count < Self.most { $0.append((word, Self.plain(description))) } }
    }

    /// Adds a name, or the id if a shell might not take the name literally.
    func add(_ name: String?, or id: String, _ description: String) {
        if let name, Self.isPlain(name) { add(name, description) } else { add(id, name ?? description) }
    }

    /// Returns the lines that a shell's completion reads, sorted by description.
    func lines(for shell: CompletionShell?) -> [String] {
        let all = found.withLock(\.self).sorted { ($0.description, $0.word) < ($1.description, $1.word) }
        let separator = shell == .zsh ? ":" : shell == .fish ? "\t" : nil
        return all.map { word, description in
            separator.map { description.isEmpty ? word : word + $0 + description } ?? word
        }
    }

    /// Returns whether a shell takes a word literally: bash expands the words that it completes.
    private static func isPlain(_ word: String) -> Bool {
        !word.isEmpty && !word.hasPrefix("-")
            && word.utf8.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F: true
                default: false
                }
            }
    }

    /// Returns a description with only letters, digits, blanks and harmless marks: an origin chooses the name.
    private static func plain(_ description: String) -> String {
        String(
            description.prefix(longestDescription).map { letter in
                letter.isLetter || letter.isNumber || ",-._".contains(letter) ? letter : " "
            })
    }
}
