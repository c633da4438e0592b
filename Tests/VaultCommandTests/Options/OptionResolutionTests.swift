import ArgumentParser
import Logging
import MediaVault
import Testing
import VaultService

@testable import VaultCommand

/// An option precedes the environment, which precedes the default; an empty variable counts as unset; paths are
/// absolute.
@Suite struct OptionResolutionTests {
    private static func environment(_ variables: [String: String] = ["HOME": "/home/anna"]) -> ProcessEnvironment {
        ProcessEnvironment(variables: variables, workingDirectory: "/start/here")
    }

    @Test(
        "A path becomes absolute without access to the file system",
        arguments: [
            ("/a/b", "/a/b"), ("a/b", "/start/here/a/b"), ("./a", "/start/here/a"), (".", "/start/here"),
            ("//a//b/", "/a/b"), ("/", "/"), ("../a", "/start/here/../a"), ("/a/./b/../c", "/a/b/../c"),
            ("~/a", "/start/here/~/a"),
        ])
    func absolutePath(_ path: String, _ expected: String) {
        #expect(AbsolutePath.of(path, from: "/start/here") == expected)
    }

    @Test(
        "The option, else the environment, else the default sets format and level of the log",
        arguments: [
            (nil, [:], Logger.Level.notice), (nil, ["MEDIAVAULT_LOG_LEVEL": "info"], .info),
            ("debug", ["MEDIAVAULT_LOG_LEVEL": "info"], .debug), (nil, ["MEDIAVAULT_LOG_LEVEL": ""], .notice),
            (nil, ["MEDIAVAULT_LOG_FORMAT": "json"], .notice), (nil, ["MEDIAVAULT_LOG_LEVEL": "loud"], nil),
            (nil, ["MEDIAVAULT_LOG_FORMAT": "xml"], nil),
        ] as [(String?, [String: String], Logger.Level?)])
    func log(option: String?, variables: [String: String], expected: Logger.Level?) throws {
        let options = try LogOptions.parse(option.map { ["--log-level", $0] } ?? [])
        if let expected {
            #expect(try options.logger(in: Self.environment(variables)).logLevel == expected)
        } else {
            let error = #expect(throws: UsageError.self) { try options.logger(in: Self.environment(variables)) }
            let (name, value) = try #require(variables.first)
            #expect(error?.message.contains("\(name) is '\(value)'; give it one of ") == true)
        }
    }

    struct PlaceCase: Sendable, CustomTestStringConvertible {
        var folder: String?
        var keyring: String?
        var variables: [String: String] = [:]
        var expected: VaultPlace?

        var testDescription: String { "\(folder ?? "–") \(keyring ?? "–") \(variables)" }
    }

    private static let homePlace = VaultPlace(
        folder: "/home/anna/.local/share/mediavault", keyring: "/home/anna/.config/mediavault/keyring.json")

    @Test(
        "The option, else the environment, else the default locates vault and keyring",
        arguments: [
            PlaceCase(variables: ["HOME": "/home/anna"], expected: homePlace),
            PlaceCase(
                variables: ["HOME": "/home/anna", "XDG_DATA_HOME": "/data", "XDG_CONFIG_HOME": "/conf/"],
                expected: VaultPlace(folder: "/data/mediavault", keyring: "/conf/mediavault/keyring.json")),
            // Relative and empty values of XDG variables must be ignored.
            PlaceCase(
                variables: ["HOME": "/home/anna", "XDG_DATA_HOME": "data", "XDG_CONFIG_HOME": ""], expected: homePlace),
            PlaceCase(
                variables: ["HOME": "/home/anna", "MEDIAVAULT_DIR": "", "MEDIAVAULT_KEYRING": ""], expected: homePlace),
            PlaceCase(
                variables: ["MEDIAVAULT_DIR": "vault", "MEDIAVAULT_KEYRING": "/k.json"],
                expected: VaultPlace(folder: "/start/here/vault", keyring: "/k.json")),
            PlaceCase(
                folder: "/v", keyring: "k", variables: ["MEDIAVAULT_DIR": "/other", "MEDIAVAULT_KEYRING": "/other"],
                expected: VaultPlace(folder: "/v", keyring: "/start/here/k")),
            PlaceCase(folder: "", keyring: "k", variables: ["HOME": "/home/anna"], expected: nil),
            PlaceCase(folder: "v", keyring: nil, variables: [:], expected: nil),
            PlaceCase(folder: nil, keyring: "k", variables: ["HOME": "relative"], expected: nil),
        ])
    func place(_ example: PlaceCase) {
        var options = PlaceOptions()
        options.folder = example.folder
        options.keyring = example.keyring
        let environment = Self.environment(example.variables)
        if let expected = example.expected {
            #expect((try? options.place(in: environment)) == expected)
        } else {
            #expect(throws: UsageError.self) { try options.place(in: environment) }
        }
    }

    struct UnlockCase: Sendable, CustomTestStringConvertible {
        var keyFile: String?
        var passphraseFile: String?
        var keyCommand: String?
        var credential: String?
        var variables: [String: String] = [:]
        /// Nil: a usage error.
        var expected: UnlockSource?

        var testDescription: String {
            "\(keyFile ?? "–") \(passphraseFile ?? "–") \(keyCommand ?? "–") \(credential ?? "–") \(variables)"
        }
    }

    private static let credentials = ["CREDENTIALS_DIRECTORY": "/run/c"]

    private static let bothVariables = ["MEDIAVAULT_KEY_FILE": "/ek", "MEDIAVAULT_PASSPHRASE_FILE": "/ep"]

    @Test(
        "The options, else the environment, else a prompt unlock the keyring",
        arguments: [
            UnlockCase(expected: .prompt),
            UnlockCase(variables: ["MEDIAVAULT_KEY_FILE": "", "MEDIAVAULT_PASSPHRASE_FILE": ""], expected: .prompt),
            UnlockCase(keyFile: "k", expected: .keyFile("/start/here/k")),
            UnlockCase(passphraseFile: "/p", expected: .passphraseFile("/p")),
            UnlockCase(variables: ["MEDIAVAULT_KEY_FILE": "ek"], expected: .keyFile("/start/here/ek")),
            UnlockCase(variables: ["MEDIAVAULT_PASSPHRASE_FILE": "/ep"], expected: .passphraseFile("/ep")),
            UnlockCase(keyFile: "/k", variables: bothVariables, expected: .keyFile("/k")),
            UnlockCase(passphraseFile: "/p", variables: bothVariables, expected: .passphraseFile("/p")),
            UnlockCase(variables: bothVariables, expected: nil),
            UnlockCase(keyFile: "/k", passphraseFile: "/p", expected: nil),
            UnlockCase(keyFile: "", expected: nil),
            UnlockCase(keyCommand: "pass show vault", expected: .keyCommand("pass show vault")),
            UnlockCase(keyCommand: "c", variables: bothVariables, expected: .keyCommand("c")),
            UnlockCase(variables: ["MEDIAVAULT_KEY_COMMAND": "c"], expected: .keyCommand("c")),
            UnlockCase(keyFile: "/k", keyCommand: "c", expected: nil),
            UnlockCase(keyCommand: "", expected: nil),
            UnlockCase(credential: "mediavault.key", expected: .credential(.standard)),
            UnlockCase(variables: ["MEDIAVAULT_CREDENTIAL": "mediavault.key"], expected: .credential(.standard)),
            UnlockCase(variables: credentials, expected: .credential(.standard)),
            UnlockCase(variables: credentials.merging(["MEDIAVAULT_KEY_FILE": "/k"]) { $1 }, expected: .keyFile("/k")),
            UnlockCase(credential: "mediavault.key", variables: bothVariables, expected: .credential(.standard)),
            UnlockCase(keyFile: "/k", credential: "c", variables: credentials, expected: nil),
            UnlockCase(credential: "../c", variables: credentials, expected: nil),
            UnlockCase(credential: "..", variables: credentials, expected: nil),
        ])
    func unlock(_ example: UnlockCase) {
        var options = UnlockOptions()
        options.keyFile = example.keyFile
        options.passphraseFile = example.passphraseFile
        options.keyCommand = example.keyCommand
        options.credential = example.credential
        let environment = Self.environment(example.variables)
        if let expected = example.expected {
            #expect((try? options.source(in: environment)) == expected)
        } else {
            let error = #expect(throws: (any Error).self) { try options.source(in: environment) }
            guard let error, case .message(_, .usage) = Failure(error) else {
                Issue.record("no usage error")
                return
            }
        }
    }

    @Test("A credential is looked up in the folder that CREDENTIALS_DIRECTORY names")
    func credentialPath() async throws {
        let source = UnlockSource.credential(try CredentialName("c"))
        let unlock = try await source.unlock(allowLoose: false, asking: .old, in: Self.environment(Self.credentials))
        guard case .credential(path: "/run/c/c") = unlock else {
            Issue.record("\(unlock)")
            return
        }
        for variables in [[:], ["CREDENTIALS_DIRECTORY": "relative"]] {
            let error = await #expect(throws: VaultError.self) {
                try await source.unlock(allowLoose: false, asking: .old, in: Self.environment(variables))
            }
            #expect(error?.code == .invalidArgument && error?.message.contains("CREDENTIALS_DIRECTORY") == true)
        }
    }

    @Test("The option, else the environment, sets the listen address") func listenAddress() throws {
        let environment = Self.environment(["MEDIAVAULT_LISTEN": "[::1]:9000"])
        #expect(try ListenAddress.named("localhost:1", in: environment) == ListenAddress(host: "localhost", port: 1))
        #expect(try ListenAddress.named(nil, in: environment) == ListenAddress(host: "::1", port: 9000))
        #expect(try ListenAddress.named(nil, in: Self.environment(["MEDIAVAULT_LISTEN": ""])) == nil)
        #expect(throws: VaultError.self) { try ListenAddress.named("8300", in: environment) }
    }

    @Test(
        "Clients reach a wildcard address by the loopback address",
        arguments: [
            ("0.0.0.0", "127.0.0.1:8300"), ("::", "[::1]:8300"), ("::1", "[::1]:8300"),
            ("nas.example", "nas.example:8300"),
        ])
    func reachable(_ host: String, _ authority: String) {
        #expect(ListenAddress(host: host, port: 8300).reachable.description == authority)
    }
}
