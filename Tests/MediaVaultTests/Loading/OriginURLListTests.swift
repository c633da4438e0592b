import Testing
import VaultModel

@testable import MediaVault

@Suite("The origin URLs of one resource")
struct OriginURLListTests {
    private let start = ContinuousClock.now
    private func url(_ token: Int) -> MediaURL {
        MediaURL(scheme: "http", host: "a.example", port: nil, path: "/x", query: "token=\(token)")
    }

    @Test("The newest URL is used, and giving an old URL again makes it the newest")
    func newest() {
        var addresses = OriginURLList(url(1))
        addresses.give(url(2), fields: nil)
        #expect(addresses.current == url(2))
        addresses.give(url(1), fields: nil)
        #expect(addresses.current == url(1))
    }

    @Test("A refused URL is used again only if all are refused, and a granted URL is no longer marked as refused")
    func refused() {
        var addresses = OriginURLList(url(1))
        addresses.give(url(2), fields: nil)
        #expect(addresses.refuse(url(2)) && addresses.current == url(1))
        addresses.give(url(2), fields: nil)
        #expect(addresses.current == url(1), "giving the URL again does not clear its refusal")
        #expect(addresses.refuse(url(1)) == false && addresses.current == url(2))
        addresses.grant(url(1))
        #expect(addresses.current == url(1))
    }

    @Test("The URL from the index is the last resort, and its fields are used if none were given")
    func recalled() {
        let fields = OriginFields(origin: "http://a.example", fields: HeaderFields(["X-Token": "t"]))
        var addresses = OriginURLList(url(1))
        addresses.recall(url(0), fields: fields)
        #expect(addresses.current == url(1) && addresses.fields == fields)
        #expect(addresses.refuse(url(1)) && addresses.current == url(0))
        let newer = OriginFields(origin: "http://a.example", fields: HeaderFields(["X-Token": "u"]))
        var given = OriginURLList(url(1), fields: newer)
        given.recall(url(0), fields: fields)
        #expect(given.fields == newer)
    }

    @Test("A URL that a manifest named stays marked as such in the index until the operator names it")
    func derived() {
        var addresses = OriginURLList(url(1))
        addresses.recall(url(0), fields: nil, reach: .publicOnly)
        #expect(addresses.reach(of: url(0)) == .publicOnly && addresses.reach(of: url(1)) == .anywhere)
        #expect(addresses.refuse(url(1)) && addresses.current == url(0))
        #expect(addresses.takeChange(of: url(0), now: start) == false, "the index has it already")
        addresses.give(url(0), fields: nil)
        #expect(addresses.reach(of: url(0)) == .anywhere)
        #expect(addresses.takeChange(of: url(0), now: start) == true, "the index must record who named it")
    }

    @Test("New request fields make a refused URL usable again")
    func otherFields() {
        var addresses = OriginURLList(url(1))
        #expect(addresses.refuse(url(1)) == false)
        addresses.give(url(2), fields: nil)
        #expect(addresses.refuse(url(2)) == false)
        addresses.give(url(1), fields: OriginFields(origin: "http://a.example", fields: HeaderFields(["Cookie": "c"])))
        #expect(addresses.current == url(1) && addresses.refuse(url(1)), "the other URL is usable as well")
    }

    @Test("Only a few URLs are remembered, and refused ones are dropped first")
    func few() {
        var addresses = OriginURLList(url(0))
        for number in 1..<OriginURLList.most { addresses.give(url(number), fields: nil) }
        _ = addresses.refuse(url(2))
        addresses.give(url(9), fields: nil)
        _ = addresses.refuse(url(9))
        _ = addresses.refuse(url(3))
        _ = addresses.refuse(url(1))
        #expect(addresses.current == url(0))
    }

    @Test("The index records a URL after it was answered, and another one at most once a minute")
    func told() {
        var addresses = OriginURLList(url(1))
        #expect(addresses.takeChange(of: url(1), now: start) == true)
        #expect(addresses.takeChange(of: url(1), now: start) == false)
        addresses.give(url(2), fields: nil)
        #expect(addresses.takeChange(of: url(1), now: start + .seconds(99)) == false, "it is not the newest URL")
        #expect(addresses.takeChange(of: url(2), now: start) == true)
        addresses.give(url(1), fields: nil)
        #expect(addresses.takeChange(of: url(1), now: start + .seconds(59)) == false)
        #expect(addresses.takeChange(of: url(1), now: start + .seconds(60)) == true)
        addresses.recall(url(3), fields: nil)
        #expect(addresses.takeChange(of: url(1), now: start) == true, "the index has another URL")
    }

    @Test("A URL that the operator named may be at any address, and any other must be at a public address")
    func reach() {
        var addresses = OriginURLList(url(1), reach: .publicOnly)
        #expect(addresses.reach(of: url(1)) == .publicOnly && addresses.reach(of: url(2)) == .publicOnly)
        addresses.give(url(2), fields: nil)
        addresses.give(url(2), fields: nil, reach: .publicOnly)
        #expect(addresses.reach(of: url(2)) == .anywhere && addresses.reach(of: url(1)) == .publicOnly)
        addresses.give(url(1), fields: nil)
        #expect(addresses.reach(of: url(1)) == .anywhere)
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
