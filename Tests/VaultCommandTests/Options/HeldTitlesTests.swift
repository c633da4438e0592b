import Testing

@testable import VaultCommand

@Suite("What a shell offers")
struct HeldTitlesTests {
    @Test(
        "Of a command line that is being typed, only the options that open the vault are used",
        arguments: [
            ("mediavault info ", ""), ("mediavault info --vault v", "--vault=v"),
            ("mediavault info --vault=v --json --key-file k http", "--vault=v --key-file=k"),
            ("mediavault fetch --header-file h --allow-loose-key-file --wait", "--allow-loose-key-file"),
            ("mediavault info --vault", ""), ("mediavault rm --vaults v --credential=c", "--credential=c"),
        ])
    func options(_ line: String, _ expected: String) {
        let words = line.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
        #expect(HeldTitles.access(in: words) == expected.split(separator: " ").map(String.init))
    }

    @Test("Held titles are offered by their start; without a key file nothing is, and no file is created")
    func urls() async throws {
        let served = try await ServedLab()
        try #require(try await served.lab.run("fetch", served.url).status == 0)
        let (lab, url) = (served.lab, served.url)
        func offered(_ words: String..., setting variables: [String: String] = [:]) async throws -> [String] {
            let arguments = [
                "---completion", "info", "--", "positional@0", "2", "\(words.last?.count ?? 0)", "mediavault",
            ]
            let result = try await lab.start(arguments + words, setting: variables).result
            #expect(result.status == 0 && result.errors.isEmpty, "\(result.errors)")
            return result.text.split(separator: "\n").map(String.init)
        }
        #expect(try await offered("info", "") == [url])
        #expect(try await offered("info", "http://127") == [url])
        #expect(try await offered("info", "https").isEmpty)
        #expect(try await offered("info", "--vault", lab.folder.path + "/none", "").isEmpty)
        #expect(try await offered("info", "", setting: ["MEDIAVAULT_KEY_FILE": ""]).isEmpty)
        let file = ["MEDIAVAULT_KEY_FILE": "", "MEDIAVAULT_KEY_COMMAND": "touch \(lab.folder.path)/ran"]
        #expect(try await offered("info", "", setting: file).isEmpty)
        #expect(!lab.folder.files().contains { $0.hasSuffix("ran") })
        let service = try await served.serve()
        #expect(try await offered("info", "http", setting: ServedLab.keyless) == [url])
        _ = service
    }
}
