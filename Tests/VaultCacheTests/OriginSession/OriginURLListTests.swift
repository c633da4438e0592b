import Testing
import VaultModel

@testable import VaultCache

@Suite("The origin URLs of one resource")
struct OriginURLListTests {
    private let start = ContinuousClock.now
    private func url(_ token: Int) -> MediaURL {
        MediaURL(scheme: "http", host: "a.example", port: nil, path: "/x", query: "token=\(token)")
    }

    @Test("The newest URL is used, and giving an old URL again makes it the newest")
    func newest() {
        var list = OriginURLList(url(1))
        list.give(url(2), fields: nil)
        #expect(list.current == url(2))
        list.give(url(1), fields: nil)
        #expect(list.current == url(1))
    }

    @Test("A refused URL is used again only if all are refused, and a granted URL is no longer marked as refused")
    func refused() {
        var list = OriginURLList(url(1))
        list.give(url(2), fields: nil)
        #expect(list.refuse(url(2)) && list.current == url(1))
        list.give(url(2), fields: nil)
        #expect(list.current == url(1), "giving the URL again does not clear its refusal")
        #expect(list.refuse(url(1)) == false && list.current == url(2))
        list.grant(url(1))
        #expect(list.current == url(1))
    }

    @Test("The URL from the index is the last resort, and its fields are used if none were given")
    func recalled() {
        let fields = OriginFields(origin: "http://a.example", fields: HeaderFields(["X-Token": "t"]))
        var list = OriginURLList(url(1))
        list.recall(url(0), fields: fields)
        #expect(list.current == url(1) && list.fields == fields)
        #expect(list.refuse(url(1)) && list.current == url(0))
        let newer = OriginFields(origin: "http://a.example", fields: HeaderFields(["X-Token": "u"]))
        var given = OriginURLList(url(1), fields: newer)
        given.recall(url(0), fields: fields)
        #expect(given.fields == newer)
    }

    @Test("A URL that a manifest named stays marked as such in the index until the operator names it")
    func derived() {
        var list = OriginURLList(url(1))
        list.recall(url(0), fields: nil, reach: .publicOnly)
        #expect(list.reach(of: url(0)) == .publicOnly && list.reach(of: url(1)) == .anywhere)
        #expect(list.refuse(url(1)) && list.current == url(0))
        #expect(list.takeChange(of: url(0), now: start) == false, "the index has it already")
        list.give(url(0), fields: nil)
        #expect(list.reach(of: url(0)) == .anywhere)
        #expect(list.takeChange(of: url(0), now: start) == true, "the index must record who named it")
    }

    @Test("New request fields make a refused URL usable again")
    func otherFields() {
        var list = OriginURLList(url(1))
        #expect(list.refuse(url(1)) == false)
        list.give(url(2), fields: nil)
        #expect(list.refuse(url(2)) == false)
        list.give(url(1), fields: OriginFields(origin: "http://a.example", fields: HeaderFields(["Cookie": "c"])))
        #expect(list.current == url(1) && list.refuse(url(1)), "the other URL is usable as well")
    }

    @Test("Only a few URLs are remembered, and refused ones are dropped first")
    func few() {
        var list = OriginURLList(url(0))
        for number in 1..<OriginURLList.most { list.give(url(number), fields: nil) }
        _ = list.refuse(url(2))
        list.give(url(9), fields: nil)
        _ = list.refuse(url(9))
        _ = list.refuse(url(3))
        _ = list.refuse(url(1))
        #expect(list.current == url(0))
    }

    @Test("The index records a URL after it was answered, and another one at most once a minute")
    func told() {
        var list = OriginURLList(url(1))
        #expect(list.takeChange(of: url(1), now: start) == true)
        #expect(list.takeChange(of: url(1), now: start) == false)
        list.give(url(2), fields: nil)
        #expect(list.takeChange(of: url(1), now: start + .seconds(99)) == false, "it is not the newest URL")
        #expect(list.takeChange(of: url(2), now: start) == true)
        list.give(url(1), fields: nil)
        #expect(list.takeChange(of: url(1), now: start + .seconds(59)) == false)
        #expect(list.takeChange(of: url(1), now: start + .seconds(60)) == true)
        list.recall(url(3), fields: nil)
        #expect(list.takeChange(of: url(1), now: start) == true, "the index has another URL")
    }

    @Test("A URL that the operator named may be at any address, and any other must be at a public address")
    func reach() {
        var list = OriginURLList(url(1), reach: .publicOnly)
        #expect(list.reach(of: url(1)) == .publicOnly && list.reach(of: url(2)) == .publicOnly)
        list.give(url(2), fields: nil)
        list.give(url(2), fields: nil, reach: .publicOnly)
        #expect(list.reach(of: url(2)) == .anywhere && list.reach(of: url(1)) == .publicOnly)
        list.give(url(1), fields: nil)
        #expect(list.reach(of: url(1)) == .anywhere)
    }

    @Test(
        "Request fields are sent only to the origin that they were given for",
        arguments: [
            ("http://a.example/y", true), ("http://a.example:80/", true), ("https://a.example/x", false),
            ("http://a.example:8080/x", false), ("http://b.example/x", false), ("http://x.a.example/x", false),
        ])
    func origin(text: String, isSent: Bool) throws {
        let fields = try #require(OriginFields(HeaderFields(["X-Token": "t"]), for: url(1)))
        #expect(try fields.sent(to: MediaURL(text)).fields.isEmpty == !isSent)
    }
}
