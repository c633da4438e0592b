import ArgumentParser
import MediaVault
import VaultService

/// What a shell offers for arguments whose values the parser does not know.
enum Completions {
    /// The URLs of held titles.
    static let titles = CompletionKind.custom { words, _, prefix in
        (try? await HeldTitles(words).urls(startingWith: prefix)) ?? []
    }
}

/// The titles of the vault that a command line names, for a shell that completes it.
///
/// A shell must neither wait for a passphrase nor run a program for a key: then there are none.
struct HeldTitles {
    private let access: VaultAccess

    /// The most that a shell is given: more are not read by anyone.
    private static let most = 1000
    private static let pageSize = 500

    /// - Parameter words: the words of the command line, beginning with the command.
    init(_ words: [String]) throws {
        access = try VaultAccess.parse(Self.access(in: words))
    }

    /// Returns the options in a command line that open the vault.
    static func access(in words: [String]) -> [String] {
        var (options, rest) = ([String](), words[...])
        while let word = rest.popFirst() {
            let name = String(word.prefix { $0 != "=" })
            if word == "--allow-loose-key-file" || (GlobalOptions.valued.contains(name) && word != name) {
                options.append(word)
            } else if GlobalOptions.valued.contains(word), let value = rest.popFirst() {
                options.append("\(word)=\(value)")
            }
        }
        return options
    }

    /// Returns the URLs that begin with a text; asks the service, which needs no key.
    func urls(startingWith prefix: String) async throws -> [String] {
        do {
            return try await urls(startingWith: prefix, in: RemoteVault(ControlClient(folder: access.place.vault())))
        } catch is ServiceGone {
            switch try access.unlocking.way() {
            case .prompt, .keyCommand, .passphraseFile: return []
            case .keyFile, .credential:
                return try await access.opener().reading { try await urls(startingWith: prefix, in: LocalVault($0)) }
            }
        }
    }

    private func urls(startingWith prefix: String, in vault: any VaultClient) async throws -> [String] {
        var (found, next) = ([String](), String?.none)
        repeat {
            let page = try await vault.resources(after: next, limit: Self.pageSize)
            found += page.resources.map(\.url).filter { $0.hasPrefix(prefix) }
            next = page.next
        } while next != nil && found.count < Self.most
        return Array(found.prefix(Self.most)).sorted()
    }
}
