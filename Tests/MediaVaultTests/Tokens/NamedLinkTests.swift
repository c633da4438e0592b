import Foundation
import OriginTestSupport
import Testing
import VaultModel

@testable import MediaVault

@Suite("Named links")
struct NamedLinkTests {
    private let now = Int64(Date().timeIntervalSince1970)
    private static let far: Int64 = 4_000_000_000

    private func fixture() async throws -> VaultFixture { try await VaultFixture(ScriptedResource(length: 0)) }

    private static func capability(in path: String) throws -> String {
        String(try #require(path.split(separator: "/").dropFirst().first))
    }

    @Test("A named link plays for ever, and opens nothing once it is revoked; others go on")
    func life() async throws {
        let fixture = try await fixture()
        var vault = try await fixture.open()
        let reference = MediaReference(fixture.url)
        let tv = try await vault.access.createLinks(named: "tv", to: [reference], expires: nil)
        let pad = try await vault.access.createLinks(named: "pad", to: [reference], expires: now + 9000)
        let plain = vault.tokens.playbackPath(for: fixture.url, expires: now + 9000)
        let (tvPath, padPath) = (try #require(tv.paths.first), try #require(pad.paths.first))
        #expect(tvPath.hasPrefix("/media/never."))
        #expect(vault.tokens.reference(ofTarget: tvPath, now: Self.far) == reference)
        #expect(vault.tokens.reference(ofTarget: padPath, now: now + 8999) == reference)
        #expect(vault.tokens.reference(ofTarget: padPath, now: now + 9000) == nil)
        let admission = try #require(vault.tokens.admission(ofTarget: tvPath, now: now))
        let unnamed = try #require(vault.tokens.admission(ofTarget: plain, now: now))
        #expect(vault.tokens.isValid(admission, now: now) && vault.tokens.isValid(unnamed, now: now))
        try await vault.access.revoke([tv.grant])
        #expect(!vault.tokens.isValid(admission, now: now), "what was verified before is verified again")
        #expect(vault.tokens.isValid(unnamed, now: now))
        #expect(vault.tokens.reference(ofTarget: tvPath, now: now) == nil)
        #expect(vault.tokens.reference(ofTarget: padPath, now: now) == reference)
        await vault.close()
        vault = try await fixture.open()
        #expect(vault.tokens.reference(ofTarget: tvPath, now: now) == nil)
        #expect(vault.tokens.reference(ofTarget: padPath, now: now) == reference)
        #expect(vault.access.issuedLinks.map(\.name) == ["pad"])
        await vault.close()
    }

    @Test("The record of links keeps their titles; one of an earlier version is known by its URL alone")
    func titles() throws {
        let title = try #require(TitleID("k3v7q2ma"))
        func grant(_ titles: [TitleID]) throws -> AccessGrant {
            AccessGrant(
                id: try #require(GrantID(bytes: Array(repeating: 3, count: 16))),
                kind: .links(.init(url: "http://a.example/b", count: 2, titles: titles)), name: "tv", created: 5,
                expires: nil, era: Array(repeating: 1, count: 16))
        }
        for titles in [[title], []] {
            let made = try grant(titles)
            #expect(AccessGrant(id: made.id, made.record) == made)
            guard case .links(let links) = made.kind else { return }
            #expect(links.lead(to: title, at: "http://a.example/c") == !titles.isEmpty)
            #expect(links.lead(to: title, at: "http://a.example/b") && links.lead(to: nil, at: "http://a.example/b"))
            // One of the two titles, or both but the first, is not in the record.
            #expect(links.leaveOutTitles)
        }
        let whole = AccessGrant.LinkedResources(url: "http://a.example/b", count: 1, titles: [])
        #expect(!whole.leaveOutTitles && !whole.lead(to: title, at: "http://a.example/c"))
        for odd in [JSONValue.string("k3v7q2ma"), .array([.string("x")]), .array([.integer(1)])] {
            var record = try grant([title]).record
            record["titles"] = odd
            #expect(try AccessGrant(id: grant([]).id, record) == nil)
        }
        #expect(
            AccessGrant.LinkedResources(url: "", count: 2000, titles: Array(repeating: title, count: 2000)).titles.count
                == 1000)
    }

    @Test("A named link opens nothing for an issuer without the vault")
    func withoutVault() async throws {
        let fixture = try await fixture()
        let vault = try await fixture.open()
        let links = try await vault.access.createLinks(named: "tv", to: [MediaReference(fixture.url)], expires: nil)
        let issuer = try await TokenIssuer.open(keyring: fixture.place.keyring, unlock: fixture.unlock)
        let path = try #require(links.paths.first)
        #expect(issuer.reference(ofTarget: path, now: now) == nil)
        #expect(vault.tokens.reference(ofTarget: path, now: now) != nil)
        await vault.close()
    }

    @Test("Any change to the fields of a named link invalidates it, and it has one spelling")
    func changed() async throws {
        let fixture = try await fixture()
        let vault = try await fixture.open()
        let reference = MediaReference(fixture.url)
        let (one, two) = (
            try await vault.access.createLinks(named: "one", to: [reference], expires: nil),
            try await vault.access.createLinks(named: "two", to: [reference], expires: Self.far)
        )
        let (path, other) = (try #require(one.paths.first), try #require(two.paths.first))
        let capability = try Self.capability(in: path)
        let fields = capability.split(separator: ".").map(String.init)
        let others = try Self.capability(in: other).split(separator: ".").map(String.init)
        // expiry, depth, kind, own, grant, mac
        try #require(
            fields.count == 6 && fields[0] == "never" && fields[4].hasPrefix("=") && others[0] == "\(Self.far)")
        func isOpen(_ fields: [String]) -> Bool {
            let target = path.replacing(capability, with: fields.joined(separator: "."))
            return vault.tokens.reference(ofTarget: target, now: now) != nil
        }
        #expect(isOpen(fields))
        for change in [
            [0, 1, 2, 3, 5], [0, 1, 2, 4, 5], [0, 1, 2, 4, 3, 5], [0, 1, 2, 3, 4, 4, 5], [0, 1, 2, 5],
        ] { #expect(!isOpen(change.map { fields[$0] }), "\(change)") }
        for index in fields.indices {
            var changed = fields
            changed[index] = others[index]
            #expect(isOpen(changed) == (fields[index] == others[index]), "\(index)")
        }
        for expiry in ["Never", "-1", String(Int64.max), String(Self.far)] {
            #expect(!isOpen([expiry] + fields.dropFirst()), "\(expiry)")
        }
        await vault.close()
    }

    @Test("Name, mark, variables and grant of a link yield different inputs of its mac, however they are combined")
    func message() throws {
        let url = try MediaURL("https://a.example/b/c")
        let texts = ["", "a", "own own own ", String(repeating: "g", count: 16)].map { Array($0.utf8) }
        var seen: [[UInt8]: String] = [:]
        for name in texts {
            for own in texts where own.isEmpty || name.isEmpty {
                for variables in texts {
                    for grant in texts {
                        // As the issuer composes them.
                        let rest =
                            (name.isEmpty ? own.isEmpty ? [] : [[], own] : [name])
                            + (variables.isEmpty ? [] : [[], [], variables])
                            + (grant.isEmpty ? [] : [[], [], [], grant])
                        let message = Capability.message(
                            epoch: 1, expiry: "5", depth: 1, kind: .named, url: url, scope: "/b/", rest: rest)
                        let what = "\(name) \(own) \(variables) \(grant)"
                        #expect(seen[message] == nil, "\(what) and \(seen[message] ?? "")")
                        seen[message] = what
                    }
                }
            }
        }
        #expect(seen.count > 100)
    }

    @Test("A link never leads to a named link and goes on without it, and never to two of them")
    func nested() async throws {
        let fixture = try await fixture()
        let vault = try await fixture.open()
        let inner = try await vault.access.createLinks(named: "inner", to: [MediaReference(fixture.url)], expires: nil)
        let within = try MediaURL("http://127.0.0.1:8300\(try #require(inner.paths.first))")
        let plain = vault.tokens.playbackPath(for: within, expires: Self.far)
        #expect(vault.tokens.reference(ofTarget: plain, now: now)?.url == fixture.url)
        // A named link to a link plays what that link plays.
        let outer = try await vault.access.createLinks(named: "outer", to: [MediaReference(within)], expires: nil)
        let path = try #require(outer.paths.first)
        #expect(!path.contains("8300") && outer.grant.kind == inner.grant.kind)
        let double = try vault.tokens.playbackPath(
            for: MediaReference(within), expires: Self.far, grant: outer.grant.id)
        #expect(vault.tokens.reference(ofTarget: double, now: now) == nil)
        try await vault.access.revoke([inner.grant])
        #expect(vault.tokens.reference(ofTarget: plain, now: now) == nil)
        #expect(vault.tokens.reference(ofTarget: path, now: now)?.url == fixture.url)
        await vault.close()
    }

    @Test("One name covers links to several titles, and an unusable title creates none")
    func several() async throws {
        let fixture = try await fixture()
        let vault = try await fixture.open()
        let references = (0..<3).map {
            MediaReference(fixture.origin.url("/\($0).mp4"), contentID: $0 == 1 ? "a" : nil)
        }
        let links = try await vault.access.createLinks(named: "all", to: references, expires: nil)
        #expect(links.paths.map { vault.tokens.reference(ofTarget: $0, now: now) } == references)
        var titles: [TitleID] = []
        for reference in references { titles.append(try await vault.titles.titleID(of: reference)) }
        #expect(
            links.grant.kind == .links(.init(url: references[0].url.absoluteString, count: 3, titles: titles)))
        // The record names each of the titles, even after a restart, and no other.
        for reference in references {
            #expect(try await vault.access.namedLinks(to: reference).map(\.id) == [links.grant.id])
        }
        #expect(try await vault.access.namedLinks(to: MediaReference(MediaURL("http://other.example/x.mp4"))) == [])
        let unusable = references + [MediaReference(fixture.url, contentID: "a\nb")]
        await #expect(throws: VaultError.self) {
            try await vault.access.createLinks(named: "bad", to: unusable, expires: nil)
        }
        await #expect(throws: VaultError.self) {
            try await vault.access.createLinks(named: "none", to: [], expires: nil)
        }
        #expect(vault.access.issuedLinks.count == 1)
        try await vault.access.revoke(vault.access.issuedLinks, isAll: true)
        #expect(links.paths.allSatisfy { vault.tokens.reference(ofTarget: $0, now: now) == nil })
        await vault.close()
    }

    @Test("The use of a named link is recorded by the day, and of an unnamed one not at all")
    func use() async throws {
        let fixture = try await fixture()
        let vault = try await fixture.open()
        let links = try await vault.access.createLinks(named: "tv", to: [MediaReference(fixture.url)], expires: nil)
        #expect(vault.access.issuedLinks.first?.lastUsed == nil)
        let path = try #require(links.paths.first)
        let morning = now - now % 86_400 + 5
        let admission = try #require(vault.tokens.admission(ofTarget: path, now: morning))
        #expect(vault.access.issuedLinks.first?.lastUsed == morning - 5)
        #expect(vault.tokens.isValid(admission, now: morning + 86_390))
        #expect(!vault.tokens.isValid(admission, now: morning + 86_395), "the next day it is recorded again")
        _ = vault.tokens.admission(ofTarget: path, now: morning + 86_395)
        #expect(vault.access.issuedLinks.first?.lastUsed == morning + 86_395)
        await vault.close()
    }
}
