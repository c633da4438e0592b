import ArgumentParser
import MediaVault
import Testing

@testable import VaultCommand

@Suite("What a shell offers for an argument")
struct ServiceCompletionTests {
    @Test("bash gets words alone, zsh and fish get each with its description")
    func shells() {
        let offers = Offers(prefix: "")
        offers.add("bbbbbbbb", "Zebra")
        offers.add("aaaaaaaa", "")
        #expect(offers.lines(for: .bash) == ["aaaaaaaa", "bbbbbbbb"])
        #expect(offers.lines(for: .zsh) == ["aaaaaaaa", "bbbbbbbb:Zebra"])
        #expect(offers.lines(for: .fish) == ["aaaaaaaa", "bbbbbbbb\tZebra"])
        #expect(offers.lines(for: nil) == ["aaaaaaaa", "bbbbbbbb"])
    }

    @Test("Only words that begin as typed, and in which a shell reads nothing else, are offered")
    func words() {
        let offers = Offers(prefix: "k")
        for word in ["k1", "x1", "k$(id)", "k one", "k;ls", "k`id`", "kö"] { offers.add(word, "") }
        offers.add("k tv", or: "k2", "a description")
        offers.add(nil, "nothing")
        #expect(offers.lines(for: .zsh) == ["k1", "k2:k tv"])
        let dashes = Offers(prefix: "")
        dashes.add("--all", "")
        #expect(dashes.lines(for: .bash).isEmpty)
    }

    @Test("A description has no character that a shell could act on")
    func descriptions() {
        let offers = Offers(prefix: "")
        offers.add("k1", "Ein Füchslein: $(id)\t\u{1B}[2J\n`x` %F{red}")
        #expect(offers.lines(for: .zsh) == ["k1:Ein Füchslein    id    2J  x   F red "])
    }

    @Test("The vault is the one that the words before name, else that of the environment")
    func folders() {
        let environment = ProcessEnvironment(
            variables: ["HOME": "/home/a", "MEDIAVAULT_DIR": "/v"], workingDirectory: "/here")
        for (words, folder) in [
            (["mediavault", "info", ""], "/v"), (["mediavault", "info", "--vault", "/w", ""], "/w"),
            (["mediavault", "info", "--vault=x"], "/here/x"), (["mediavault", "info", "--vault", "~/x"], "/home/a/x"),
        ] {
            #expect(ServiceCompletion.folder(named: words, in: environment) == folder)
        }
    }

    @Test("Columns go on behind a comma, each once")
    func columns() {
        #expect(ListColumn.values(continuing: "").contains("content-id"))
        #expect(ListColumn.values(continuing: "id,na").contains("id,name"))
        #expect(!ListColumn.values(continuing: "id,").contains("id,id"))
        #expect(ListColumn.values(continuing: "--columns=id,").contains("--columns=id,url"))
    }
}
