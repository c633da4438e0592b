import Testing
import VaultCrypto
import VaultModel
import VaultTestSupport

@testable import MediaVault

@Suite("Links that show nothing of what they lead to")
struct HiddenLinkTests {
    private let links: HiddenLinks
    private let hidden: HiddenTitle

    init() throws {
        links = try HiddenLinks(try TemporaryVault().keyring)
        hidden = HiddenTitle(
            title: try #require(TitleID("k3v7q2ma")),
            viewer: try #require(ViewerID(bytes: Array(repeating: 7, count: 16))))
    }

    @Test(
        "What follows the sealed link has the suffix of the file, if it is a plain one",
        arguments: [
            ("/media/c/https/a.example/secret/x.mp4?q=a.ts", "title.mp4"), ("/media/c/https/a.example/s/x", "title"),
            ("/media/c/https/a.example/s/x.M3U8", "title.m3u8"), ("/media/c/https/a.example/s/", ""),
            ("/media/c/https/a.example/s/x.secret", "title"), ("/media/c/https/a.example/s/x.a%20", "title"),
            ("/media/c/https/a.example/s.a/x", "title"), ("/media/c/https/a.example/s/x.", "title"),
        ])
    func names(target: String, name: String) throws {
        let path = links.path(for: target, hidden, leadsOn: false)
        #expect(path.hasSuffix("/" + name) && path.split(separator: "/").count == (name.isEmpty ? 3 : 4))
        let opened = try #require(links.open(path))
        #expect(opened.target == target && opened.hidden == hidden && !opened.isBelow)
        #expect(links.path(for: target, hidden, leadsOn: false) == path)
        #expect(links.path(for: target + "x", hidden, leadsOn: false) != path)
    }

    @Test("Only below a link that leads on is there anything else")
    func below() throws {
        let target = "/media/c/https/a.example/s/x.mpd?q"
        let folder = { (path: String) in String(path.dropLast("title.mpd".count)) }
        let ending = folder(links.path(for: target, hidden, leadsOn: false))
        let leading = folder(links.path(for: target, hidden, leadsOn: true))
        #expect(links.open(ending + "1.m4s") == nil)
        let opened = try #require(links.open(leading + "a/1.m4s?b"))
        #expect(opened.target == "/media/c/https/a.example/s/a/1.m4s?b" && opened.isBelow)
    }

    @Test("A link of another vault, one that was changed, and what is no link open nothing")
    func foreign() throws {
        let path = links.path(for: "/media/c/https/a.example/x", hidden, leadsOn: true)
        #expect(try HiddenLinks(try TemporaryVault().keyring).open(path) == nil)
        for odd in ["/media/v/", "/media/v//title", "/media/v/AAAA/title", "/media/w/x", String(path.dropFirst())] {
            #expect(links.open(odd) == nil, "\(odd)")
        }
        #expect(links.open(path.replacing("/title", with: "A/title")) == nil)
    }
}
