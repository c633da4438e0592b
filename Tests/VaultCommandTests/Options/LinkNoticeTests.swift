import MediaVault
import Testing
import VaultModel
import VaultService

@testable import VaultCommand

@Suite("What is said of the named links to titles that go")
struct LinkNoticeTests {
    private static let url = "http://a.example/b"

    private static func link(_ id: String, url: String = url, count: Int = 1, titles: [String]) throws
        -> NamedLinkDocument
    {
        let titles = titles.map { #""\#($0)""# }.joined(separator: ",")
        let text = """
            {"id":"\(id)","name":"name of \(id)","url":"\(url)","count":\(count),"titles":[\(titles)],
            "created":"2027-01-31T00:00:00Z","expires":null,"lastUsed":null}
            """
        return try JSONText.read(NamedLinkDocument.self, from: Array(text.utf8))
    }

    @Test("Each link is told of once, however many of its titles go")
    func once() throws {
        let notice = LinkNotice(areTaken: true)
        let links = [try Self.link("l1", count: 2, titles: ["k3v7q2ma", "k3v7q2mb"])]
        let (first, second) = (TitleID("k3v7q2ma"), TitleID("k3v7q2mb"))
        let told = notice.sentences(of: links, to: first, at: Self.url, isHeld: true)
        #expect(told.count == 1 && told[0].contains("and 1 other link with it is revoked"), "\(told)")
        #expect(notice.sentences(of: links, to: second, at: "http://a.example/c", isHeld: true).isEmpty)
    }

    @Test("Links of an earlier version, which has noted their first URL alone, may be said to lead to other titles")
    func earlier() throws {
        let links = [
            try Self.link("l1", count: 3, titles: []), try Self.link("l2", count: 1, titles: []),
            try Self.link("l3", count: 1, titles: ["k3v7q2mb"]),
        ]
        let notice = LinkNotice(areTaken: true)
        let told = notice.sentences(of: links, to: TitleID("k3v7q2ma"), at: "http://a.example/c", isHeld: true)
        #expect(told.count == 1 && told.first?.contains("name of l1 may lead to") ?? false, "\(told)")
        let first = notice.sentences(of: links, to: TitleID("k3v7q2ma"), at: Self.url, isHeld: true)
        #expect(first.count == 3 && first.allSatisfy { $0.contains("revoked once") }, "\(first)")
    }

    @Test("A link to a title that the vault does not have is told of, and stays also with --links")
    func notHeld() throws {
        let notice = LinkNotice(areTaken: true)
        let links = [try Self.link("l1", titles: []), try Self.link("l2", url: "http://a.example/c", titles: [])]
        let told = notice.sentences(of: links, to: nil, at: Self.url, isHeld: false)
        #expect(told.count == 1 && told.first?.contains("name of l1 to http://a.example/b stays") ?? false, "\(told)")
    }
}
