import Foundation
import OriginTestSupport
import Testing
import VaultModel
import VaultStorage

@testable import MediaVault

@Suite("Sessions of browsers")
struct SessionTests {
    private let now = Int64(Date().timeIntervalSince1970)

    private func fixture() async throws -> VaultFixture { try await VaultFixture(ScriptedResource(length: 0)) }

    @Test("A session needs both halves of its secret, each in its own place, and neither of another session")
    func halves() async throws {
        let fixture = try await fixture()
        let vault = try await fixture.open()
        let one = try await vault.access.beginSession(of: nil, in: "Firefox on Linux", endingFormer: nil).secret
        let two = try await vault.access.beginSession(of: nil, in: "Firefox on Linux", endingFormer: nil).secret
        let token = try await vault.access.createToken(.admin).text
        #expect(vault.tokens.access(bySession: one, now: now)?.scope == .admin)
        for (cookie, proof) in [
            (one.cookie, two.proof), (two.cookie, one.proof), (one.proof, one.cookie), (one.cookie, one.cookie),
            (one.proof, one.proof), (one.cookie, ""), ("", one.proof), (token, token), (one.cookie, token),
            ("mvs_" + one.proof.dropFirst(4), "mvp_" + one.cookie.dropFirst(4)),
        ] {
            let wrong = SessionSecret(cookie: cookie, proof: proof)
            #expect(vault.tokens.access(bySession: wrong, now: now) == nil, "\(cookie.prefix(4)), \(proof.prefix(4))")
        }
        for half in [one.cookie, one.proof, "mvt_" + one.cookie.dropFirst(4)] {
            #expect(vault.tokens.scope(ofToken: half, now: now) == nil)
        }
        await vault.close()
    }

    @Test("A session survives a restart, ends with its revocation alone, and with the former one of its browser")
    func life() async throws {
        let fixture = try await fixture()
        var vault = try await fixture.open()
        let other = try await vault.access.beginSession(of: nil, in: nil, endingFormer: nil)
        let first = try await vault.access.beginSession(of: nil, in: "Edge on Windows", endingFormer: nil)
        await vault.close()
        vault = try await fixture.open()
        #expect(vault.tokens.access(bySession: first.secret, now: now) != nil)
        let next = try await vault.access.beginSession(of: nil, in: "Edge on Windows", endingFormer: first.secret)
        #expect(vault.tokens.access(bySession: first.secret, now: now) == nil)
        #expect(Set(vault.access.issued(.sessions).map(\.id)) == [other.grant.id, next.grant.id])
        #expect(vault.access.issuedTokens.isEmpty && vault.access.issuedLinks.isEmpty)
        try await vault.access.revoke([next.grant])
        #expect(vault.tokens.access(bySession: next.secret, now: now) == nil)
        #expect(vault.tokens.access(bySession: other.secret, now: now) != nil)
        try await vault.keys.revokeLinks()
        #expect(vault.tokens.access(bySession: other.secret, now: now) == nil && vault.access.issued(.sessions).isEmpty)
        await vault.close()
    }

    @Test("A session ends twelve hours after its last use, and after a week however much it is used")
    func ends() async throws {
        let fixture = try await fixture()
        let vault = try await fixture.open()
        let begun = try await vault.access.beginSession(of: nil, in: nil, endingFormer: nil)
        let (created, idle) = (begun.grant.created, AccessGrant.maxIdleSession)
        func isOpen(_ time: Int64) -> Bool { vault.tokens.access(bySession: begun.secret, now: time) != nil }
        #expect(isOpen(created))
        #expect(vault.access.issued(.sessions).first?.lastUsed == created, "not the beginning of the five minutes")
        #expect(isOpen(created + idle - 1))
        #expect(!isOpen(created + 3 * idle), "premise: the last use was two limits ago")
        var time = created + idle - 1
        while time < created + AccessGrant.maxSession {
            #expect(isOpen(time), "\(time - created) s")
            time += idle
        }
        #expect(!isOpen(created + AccessGrant.maxSession))
        await vault.close()
    }

    @Test("The links of a session end with it, and their use is a use of the session")
    func links() async throws {
        let fixture = try await fixture()
        let vault = try await fixture.open()
        let begun = try await vault.access.beginSession(of: nil, in: nil, endingFormer: nil)
        let access = try #require(vault.tokens.access(bySession: begun.secret, now: now))
        let path = try await vault.access.playbackPath(
            for: MediaReference(MediaURL("http://a.example/f")), expires: now + 10 * 86_400, endingWith: access)
        let admission = try #require(vault.tokens.admission(ofTarget: path, now: now))
        #expect(vault.tokens.isValid(admission, now: now) && !vault.tokens.isValid(admission, now: now + 301))
        let late = now + AccessGrant.maxIdleSession - 10
        #expect(vault.tokens.admission(ofTarget: path, now: late) != nil)
        #expect(vault.tokens.access(bySession: begun.secret, now: late + AccessGrant.maxIdleSession - 10) != nil)
        try await vault.access.revoke([begun.grant])
        #expect(vault.tokens.admission(ofTarget: path, now: now) == nil)
        #expect(!vault.tokens.isValid(admission, now: now))
        await vault.close()
    }

    @Test("The session of a viewer plays and no more, lasts longer, and is ended without the others")
    func viewer() async throws {
        let fixture = try await fixture()
        var vault = try await fixture.open()
        let anna = try await vault.viewers.add("Anna", pin: nil)
        let owner = try await vault.access.beginSession(of: nil, in: nil, endingFormer: nil)
        let begun = try await vault.access.beginSession(of: anna.id, in: "Safari on iPad", endingFormer: nil)
        let access = try #require(vault.tokens.access(bySession: begun.secret, now: now))
        #expect(access.scope == .play && access.viewer == anna.id)
        await vault.close()
        vault = try await fixture.open()
        let created = begun.grant.created
        #expect(vault.tokens.access(bySession: begun.secret, now: created + AccessGrant.maxIdleViewing) != nil)
        #expect(vault.tokens.access(bySession: begun.secret, now: created + 3 * AccessGrant.maxIdleViewing) == nil)
        #expect(vault.tokens.access(bySession: owner.secret, now: created + AccessGrant.maxIdleViewing) == nil)
        try await vault.access.endSessions(of: anna.id)
        #expect(vault.tokens.access(bySession: begun.secret, now: now) == nil)
        #expect(vault.tokens.access(bySession: owner.secret, now: now) != nil)
        await vault.close()
    }

    @Test("Nobody is let in by what began before all links were revoked, or the sessions ended that it would add to")
    func eras() async throws {
        let fixture = try await fixture()
        let vault = try await fixture.open()
        let (anna, berta) = (try await vault.viewers.add("Anna"), try await vault.viewers.add("Berta"))
        func refused(_ viewer: ViewerID?, since era: SignInEra) async -> Bool {
            do {
                try await vault.access.revoke([
                    vault.access.beginSession(of: viewer, in: nil, since: era, endingFormer: nil).grant
                ])
                return false
            } catch {
                return (error as? VaultError)?.code == .busy
            }
        }
        var era = vault.tokens.signInEra
        #expect(await [refused(anna.id, since: era), refused(nil, since: era)] == [false, false], "premise")
        try await vault.access.endSessions(of: anna.id)
        #expect(await refused(anna.id, since: era))
        #expect(await [refused(berta.id, since: era), refused(nil, since: era)] == [false, false], "only hers ended")
        era = vault.tokens.signInEra
        _ = try await vault.access.revokeAll(.tokens)
        _ = try await vault.access.revokeAll(.links)
        #expect(await [refused(anna.id, since: era), refused(nil, since: era)] == [false, false])
        _ = try await vault.access.revokeAll(.sessions)
        #expect(await [refused(berta.id, since: era), refused(nil, since: era)] == [true, true])
        era = vault.tokens.signInEra
        try await vault.keys.revokeLinks()
        #expect(await [refused(anna.id, since: era), refused(nil, since: era)] == [true, true])
        era = vault.tokens.signInEra
        try await vault.viewers.remove(anna.id)
        #expect(await refused(anna.id, since: era))
        #expect(vault.access.issued(.sessions).isEmpty, "what was refused is not kept either")
        _ = try await vault.keys.rotateRoot(unlockedBy: [fixture.unlock])
        #expect(await refused(nil, since: era))
        era = vault.tokens.signInEra
        await vault.close()
        #expect(!vault.tokens.isInForce(era, for: nil))
    }

    @Test("No token and no named link is left of a request whose own token was revoked while it was answered")
    func revokedHolder() async throws {
        let fixture = try await fixture()
        let vault = try await fixture.open()
        let token = try await vault.access.createToken(.admin)
        let access = try #require(vault.tokens.access(byToken: token.text, now: now))
        try await vault.access.revoke([token.grant])
        let made = await #expect(throws: VaultError.self) {
            try await vault.access.createToken(.admin, name: nil, expires: nil, by: access)
        }
        let linked = await #expect(throws: VaultError.self) {
            try await vault.access.createLinks(
                named: "tv", to: [MediaReference(MediaURL("http://a.example/f"))], expires: nil, by: access)
        }
        #expect(made?.code == .busy && linked?.code == .busy)
        #expect(vault.access.issuedTokens.isEmpty && vault.access.issuedLinks.isEmpty)
        await vault.close()
    }

    @Test("The session of a viewer ends after ninety days however much it is used")
    func viewing() async throws {
        let fixture = try await fixture()
        let vault = try await fixture.open()
        let anna = try await vault.viewers.add("Anna")
        let begun = try await vault.access.beginSession(of: anna.id, in: nil, endingFormer: nil)
        let (created, end) = (begun.grant.created, begun.grant.created + 90 * AccessGrant.day)
        for time in stride(from: created, to: end, by: Int(AccessGrant.maxIdleViewing)) {
            #expect(vault.tokens.access(bySession: begun.secret, now: time) != nil, "\(time - created) s")
        }
        // It may have been recorded a moment after the request.
        #expect(vault.tokens.access(bySession: begun.secret, now: end - 60) != nil)
        #expect(vault.tokens.access(bySession: begun.secret, now: end) == nil)
        await vault.close()
    }

    @Test("What the vault keeps of a session has neither half of its secret")
    func kept() async throws {
        let fixture = try await fixture()
        let vault = try await fixture.open()
        let begun = try await vault.access.beginSession(of: nil, in: "Firefox on Linux", endingFormer: nil)
        let kept = try vault.store.grants.all().grants.filter { $0.kind.family == .sessions }
        #expect(kept.map(\.id) == [begun.grant.id])
        let text = kept.map { String(decoding: JSONValue.object($0.record.members).canonical, as: UTF8.self) }.joined()
        for half in [begun.secret.cookie, begun.secret.proof] {
            let mac = try #require(AccessToken(half)).mac
            for form in [String(half.suffix(40)), Base64.encode(mac), Base64.encodeForURL(mac)] {
                #expect(!text.contains(form))
            }
        }
        await vault.close()
    }

    @Test("The owner has 64 sessions; another one ends the one that was unused for longest, and none of a viewer")
    func mostOfOwner() async throws {
        let fixture = try await fixture()
        let vault = try await fixture.open()
        let anna = try await vault.viewers.add("Anna")
        let viewer = try await vault.access.beginSession(of: anna.id, in: nil, endingFormer: nil)
        var begun: [BegunSession] = []
        for _ in 0..<64 { begun.append(try await vault.access.beginSession(of: nil, in: nil, endingFormer: nil)) }
        #expect(vault.access.issued(.sessions).count == 65)
        let later = begun[begun.count - 1].grant.created + 2 * begun[0].grant.usePeriod
        for session in begun.dropFirst() { _ = vault.tokens.access(bySession: session.secret, now: later) }
        let last = try await vault.access.beginSession(of: nil, in: nil, endingFormer: nil)
        let left = Set(begun.dropFirst().map(\.grant.id) + [viewer.grant.id, last.grant.id])
        #expect(Set(vault.access.issued(.sessions).map(\.id)) == left)
        await vault.close()
    }

    @Test("Of very many sessions their holder's own that was unused for longest ends, and nothing of others")
    func most() async throws {
        let fixture = try await fixture()
        let vault = try await fixture.open()
        let token = try await vault.access.createToken(.read).text
        let anna = try await vault.viewers.add("Anna")
        let owner = try await vault.access.beginSession(of: nil, in: nil, endingFormer: nil)
        var begun: [BegunSession] = []
        for _ in 0..<16 { begun.append(try await vault.access.beginSession(of: anna.id, in: nil, endingFormer: nil)) }
        // All but the second are used later.
        let later = begun[begun.count - 1].grant.created + 2 * begun[0].grant.usePeriod
        for session in begun where session.grant.id != begun[1].grant.id {
            #expect(vault.tokens.access(bySession: session.secret, now: later) != nil)
        }
        let last = try await vault.access.beginSession(of: anna.id, in: nil, endingFormer: nil)
        #expect(vault.access.issued(.sessions).count == 17)
        #expect(vault.tokens.access(bySession: begun[1].secret, now: later) == nil)
        #expect(vault.tokens.access(bySession: begun[0].secret, now: later) != nil)
        #expect(vault.tokens.access(bySession: last.secret, now: later) != nil)
        #expect(vault.tokens.access(bySession: owner.secret, now: later) != nil)
        #expect(vault.tokens.scope(ofToken: token, now: later) == .read)
        await vault.close()
    }

    @Test(
        "A session that began with a ticket of a token, or in such a session, ends with the token, also after a restart"
    )
    func token() async throws {
        let fixture = try await fixture()
        var vault = try await fixture.open()
        let soon = now + 3600
        let (kept, token) = (
            try await vault.access.createToken(.admin), try await vault.access.createToken(.admin, expires: soon)
        )
        func access(_ token: IssuedToken) throws -> TokenAccess {
            try #require(vault.tokens.access(byToken: token.text, now: now))
        }
        let first = try await vault.access.beginSession(of: nil, in: nil, by: access(token), endingFormer: nil)
        let inFirst = try #require(vault.tokens.access(bySession: first.secret, now: now))
        let second = try await vault.access.beginSession(of: nil, in: nil, by: inFirst, endingFormer: nil)
        let other = try await vault.access.beginSession(of: nil, in: nil, by: access(kept), endingFormer: nil)
        #expect(first.grant.expires == soon && second.grant.expires == soon && other.grant.expires != soon)
        await vault.close()
        vault = try await fixture.open()
        #expect(vault.tokens.access(bySession: second.secret, now: now) != nil)
        #expect(vault.access.issued(.sessions).count == 3)
        try await vault.access.revoke([token.grant])
        for session in [first, second] {
            #expect(vault.tokens.access(bySession: session.secret, now: now) == nil)
        }
        #expect(!vault.tokens.isValid(inFirst, now: now), "what is running ends, too")
        #expect(vault.access.issued(.sessions).map(\.id) == [other.grant.id])
        #expect(vault.tokens.access(bySession: other.secret, now: now) != nil)
        // Its ticket was revoked just before.
        let late = await #expect(throws: VaultError.self) {
            try await vault.access.beginSession(of: nil, in: nil, by: inFirst, endingFormer: nil)
        }
        #expect(late?.code == .busy && vault.access.issued(.sessions).count == 1)
        await vault.close()
    }
}
