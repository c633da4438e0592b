import Foundation
import GRDB
import OriginTestSupport
import Testing
import VaultModel
import VaultStorage

@testable import MediaVault

@Suite("Tokens")
struct AccessTokenTests {
    private let now = Int64(Date().timeIntervalSince1970)

    private func fixture() async throws -> VaultFixture { try await VaultFixture(ScriptedResource(length: 0)) }

    private static let id = GrantID(bytes: Array(repeating: 0x11, count: 16))

    @Test("A token is parsed only in the one spelling that it is written in")
    func parsing() throws {
        let token = AccessToken(.api(.read), grant: try #require(Self.id), mac: Array(repeating: 0xFB, count: 32))
        #expect(AccessToken(token.text) == token && token.text.utf8.count == 68)
        for wrong in [
            "", String(token.text.dropLast()), token.text + "A", "mvx_" + token.text.dropFirst(4),
            "MVT_" + token.text.dropFirst(4), " " + token.text.dropFirst(1), token.text.replacing("-", with: "+"),
            String(repeating: "a", count: 68), token.text.dropLast() + "=",
        ] { #expect(AccessToken(wrong) == nil, "\(wrong)") }
    }

    @Test("What was issued in an era that has ended opens nothing, even with a mac of the one in force")
    func otherEra() async throws {
        let vault = try await fixture().open()
        let era = [UInt8](repeating: 7, count: 16)
        let grant = try vault.grants.issue(.token(.admin), name: nil, expires: nil, era: era)
        #expect(vault.tokens.scope(ofToken: vault.tokens.token(of: grant, .api(.admin)), now: now) == nil)
        #expect(vault.grants.useLinks(of: grant.id, era: vault.tokens.era, now: now) == nil)
        #expect(vault.grants.useLinks(of: grant.id, era: era, now: now) != nil, "premise")
        await vault.close()
    }

    @Test("The links of a token are kept as valid no longer than the token")
    func linkOfToken() async throws {
        let vault = try await fixture().open()
        let grant = try vault.grants.issue(.token(.play), name: nil, expires: now + 4, era: vault.tokens.era)
        #expect(vault.grants.useLinks(of: grant.id, era: vault.tokens.era, now: now) == now + 4)
        let path = try vault.tokens.playbackPath(
            for: MediaReference(MediaURL("http://a.example/f")), expires: now + 86_400, grant: grant.id)
        let admission = try #require(vault.tokens.admission(ofTarget: path, now: now))
        #expect(vault.tokens.isValid(admission, now: now + 3) && !vault.tokens.isValid(admission, now: now + 4))
        await vault.close()
    }

    @Test("Epoch, grant, use and expiry of a token yield different inputs of its mac, however they are divided")
    func message() throws {
        func grant(_ id: UInt8, _ expires: Int64?) throws -> AccessGrant {
            AccessGrant(
                id: try #require(GrantID(bytes: Array(repeating: id, count: 16))), kind: .token(.read), name: nil,
                created: 0, expires: expires, era: [])
        }
        var seen: Set<[UInt8]> = []
        var count = 0
        for epoch in [1, 11] as [Int64] {
            for id in [0x11, 0x31] as [UInt8] {
                for use in AccessScope.allCases.map({ AccessToken.Use.api($0) }) + [.cookie, .proof] {
                    for expires in [nil, 1, 11] as [Int64?] {
                        seen.insert(AccessToken.message(epoch: epoch, grant: try grant(id, expires), use))
                        count += 1
                    }
                }
            }
        }
        #expect(seen.count == count)
    }

    @Test("A token allows its scope, survives a restart, and is revoked alone")
    func life() async throws {
        let fixture = try await fixture()
        var vault = try await fixture.open()
        var tokens: [AccessScope: String] = [:]
        for scope in AccessScope.allCases {
            tokens[scope] = try await vault.access.createToken(scope, name: "\(scope)").text
        }
        #expect(Set(tokens.values).count == 4)
        await vault.close()
        vault = try await fixture.open()
        for (scope, token) in tokens { #expect(vault.tokens.scope(ofToken: token, now: now) == scope) }
        let read = try #require(vault.access.issuedTokens.first { $0.name == "read" })
        #expect(read.lastUsed == now - now % 86_400 || read.lastUsed == (now + 60) - (now + 60) % 86_400)
        let revision = vault.grants.revision
        #expect(try await vault.access.revoke([read]) == 1 && vault.grants.revision > revision)
        #expect(try await vault.access.revoke([read]) == 0)
        for (scope, token) in tokens {
            #expect(vault.tokens.scope(ofToken: token, now: now) == (scope == .read ? nil : scope))
        }
        await vault.close()
        vault = try await fixture.open()
        #expect(Set(vault.access.issuedTokens.map(\.name)) == ["metrics", "play", "admin"])
        #expect(
            vault.access.issuedTokens.allSatisfy { $0.lastUsed != nil }, "uses are written when the vault is closed")
        for (scope, token) in tokens {
            #expect(vault.tokens.scope(ofToken: token, now: now) == (scope == .read ? nil : scope))
        }
        await vault.close()
    }

    @Test("Any change to a token invalidates it, and another vault's is none")
    func changed() async throws {
        let vault = try await fixture().open()
        let (token, other) = (
            try await vault.access.createToken(.admin).text, try await vault.access.createToken(.metrics).text
        )
        let foreign = try await self.fixture().open()
        #expect(foreign.tokens.scope(ofToken: token, now: now) == nil)
        for index in [4, 20, 26, 40, 67] {
            var characters = Array(token)
            characters[index] = characters[index] == "A" ? "B" : "A"
            #expect(vault.tokens.scope(ofToken: String(characters), now: now) == nil, "\(index)")
        }
        // The mac of one token with the id of another.
        let mixed = try AccessToken(
            .api(.read), grant: #require(AccessToken(token)).grant, mac: #require(AccessToken(other)).mac)
        #expect(vault.tokens.scope(ofToken: mixed.text, now: now) == nil)
        await foreign.close()
        await vault.close()
        #expect(vault.tokens.scope(ofToken: token, now: now) == nil, "a closed vault accepts nothing")
    }

    @Test("A record that states another scope or expiry makes no more of a token")
    func record() async throws {
        let vault = try await fixture().open()
        let issued = try await vault.access.createToken(.metrics, expires: now + 9000)
        let grant = issued.grant
        let own = vault.tokens.token(of: grant, .api(.metrics))
        #expect(own == issued.text)
        let longer = AccessGrant(
            id: grant.id, kind: .token(.metrics), name: nil, created: grant.created, expires: now + 9900,
            era: grant.era)
        #expect(
            vault.tokens.token(of: longer, .api(.metrics)) != own && vault.tokens.token(of: grant, .api(.admin)) != own)
        #expect(vault.tokens.scope(ofToken: own, now: now + 8999) == .metrics)
        #expect(vault.tokens.scope(ofToken: own, now: now + 9000) == nil, "it has expired")
        await vault.close()
    }

    @Test("A new root key, and revoking all links, end every token; another generation and another locator end none")
    func keyOperations() async throws {
        let fixture = try await fixture()
        var vault = try await fixture.open()
        let kept = try await vault.access.createToken(.read, name: "kept").text
        _ = try await vault.keys.rotate()
        #expect(vault.tokens.scope(ofToken: kept, now: now) == .read)
        _ = try await vault.keys.changeLocator()
        #expect(vault.tokens.scope(ofToken: kept, now: now) == .read)
        await vault.close()
        vault = try await fixture.open()
        #expect(vault.tokens.scope(ofToken: kept, now: now) == .read && vault.access.unreadableGrants == 0)
        _ = try await vault.keys.rotateRoot(unlockedBy: [fixture.unlock])
        #expect(vault.tokens.scope(ofToken: kept, now: now) == nil && vault.access.issuedTokens.isEmpty)
        let next = try await vault.access.createToken(.read, name: "kept").text
        #expect(vault.tokens.scope(ofToken: next, now: now) == .read)
        try await vault.keys.revokeLinks()
        #expect(vault.tokens.scope(ofToken: next, now: now) == nil && vault.access.issuedTokens.isEmpty)
        await vault.close()
        vault = try await fixture.open()
        #expect(try vault.store.grants.all().grants.isEmpty, "an owner deletes the records of what is void")
        await vault.close()
    }

    @Test("Names are unique among tokens and among links, and one line")
    func names() async throws {
        let fixture = try await fixture()
        let vault = try await fixture.open()
        let grant = try await vault.access.createToken(.read, name: "tv").grant
        for name in ["tv", grant.shortID] {
            let error = await #expect(throws: VaultError.self) { try await vault.access.createToken(.read, name: name) }
            #expect(error?.code == .inUse, "\(name)")
        }
        let accented = "a" + String(repeating: "\u{301}", count: 1000)
        #expect(accented.count == 1, "premise")
        for name in [
            "", "a\nb", "a\u{7}b", "a\u{2028}b", String(repeating: "x", count: 101), accented, " ", " tv", "tv ",
            "\u{A0}tv", "t\u{202E}v", "t\u{2066}v", "t\u{200B}v", "\u{200D}",
        ] {
            let error = await #expect(throws: VaultError.self) { try await vault.access.createToken(.read, name: name) }
            #expect(error?.code == .invalidArgument)
        }
        let past = await #expect(throws: VaultError.self) {
            try await vault.access.createToken(.read, expires: now - 1)
        }
        #expect(past?.code == .invalidArgument)
        #expect(vault.access.issuedTokens.count == 1)
        _ = try await vault.access.createLinks(named: "tv", to: [MediaReference(fixture.url)], expires: nil)
        try await vault.access.revoke([grant])
        _ = try await vault.access.createToken(.read, name: "tv")
        await vault.close()
    }

    @Test("Only the owner creates and revokes; a reader knows what there was when it opened the vault")
    func reader() async throws {
        let fixture = try await fixture()
        let owner = try await fixture.open()
        let token = try await owner.access.createToken(.play)
        let reader = try await fixture.open(.reader)
        #expect(reader.tokens.scope(ofToken: token.text, now: now) == .play)
        for act in [
            { _ = try await reader.access.createToken(.read) }, { try await reader.access.revoke([token.grant]) },
            { _ = try await reader.access.createLinks(named: "a", to: [MediaReference(fixture.url)], expires: nil) },
        ] as [() async throws -> Void] {
            let error = await #expect(throws: VaultError.self) { try await act() }
            #expect(error?.code == .owned)
        }
        await reader.close()
        await owner.close()
    }

    @Test("Damaged records admit nothing, are counted, and are removed with all others")
    func damagedRows() async throws {
        let fixture = try await fixture()
        var vault = try await fixture.open()
        let (kept, lost) = (try await vault.access.createToken(.read), try await vault.access.createToken(.read))
        await vault.close()
        let index = try DatabaseQueue(path: fixture.place.folder + "/index.sqlite")
        try await index.write { db in
            try db.execute(sql: "PRAGMA ignore_check_constraints = ON")
            try db.execute(
                sql: "UPDATE accessGrant SET record = zeroblob(1048576) WHERE id = ?",
                arguments: [Data(lost.grant.id.bytes)])
            try db.execute(sql: "INSERT INTO accessGrant VALUES (x'0102', x'03'), ('a', 5)")
        }
        try index.close()
        vault = try await fixture.open()
        #expect(vault.tokens.scope(ofToken: kept.text, now: now) == .read)
        #expect(vault.tokens.scope(ofToken: lost.text, now: now) == nil)
        #expect(vault.access.issuedTokens.map(\.id) == [kept.grant.id] && vault.access.unreadableGrants == 3)
        #expect(
            try await vault.access.revoke(vault.access.issuedTokens, isAll: true) == 1
                && vault.access.unreadableGrants == 0)
        await vault.close()
        vault = try await fixture.open()
        #expect(vault.access.issuedTokens.isEmpty && vault.access.unreadableGrants == 0)
        await vault.close()
    }

    @Test("What is revoked does not come back if the index is lost the moment after")
    func rebuildAfterLoss() async throws {
        let fixture = try await fixture()
        var vault = try await fixture.open()
        let (kept, gone) = (try await vault.access.createToken(.read), try await vault.access.createToken(.read))
        await vault.close()
        vault = try await fixture.open()
        func scopes(in copy: String) async throws -> [AccessScope?] {
            let place = VaultPlace(folder: fixture.place.folder + copy, keyring: fixture.place.keyring)
            try FileManager.default.copyItem(atPath: fixture.place.folder, toPath: place.folder)
            for suffix in ["", "-wal", "-shm"] {
                try? FileManager.default.removeItem(atPath: place.folder + "/index.sqlite" + suffix)
            }
            _ = try await Vault.rebuildIndex(place, unlock: fixture.unlock)
            let vault = try await Vault.open(place, unlock: fixture.unlock, options: VaultOptions(access: .owner))
            let scopes = [kept, gone].map { vault.tokens.scope(ofToken: $0.text, now: now) }
            await vault.close()
            return scopes
        }
        #expect(try await scopes(in: "-before") == [.read, .read], "premise: the backup has both")
        try await vault.access.revoke([gone.grant])
        #expect(try await scopes(in: "-after") == [.read, nil])
        await vault.close()
    }

    @Test("Tokens survive a rebuild of the index, a revoked one does not come back, and a destroyed vault has none")
    func rebuild() async throws {
        let fixture = try await fixture()
        var vault = try await fixture.open()
        let (kept, gone) = (try await vault.access.createToken(.read), try await vault.access.createToken(.read))
        try await vault.access.revoke([gone.grant])
        await vault.close()
        try FileManager.default.removeItem(atPath: fixture.place.folder + "/index.sqlite")
        _ = try await Vault.rebuildIndex(fixture.place, unlock: fixture.unlock)
        vault = try await fixture.open()
        #expect(vault.tokens.scope(ofToken: kept.text, now: now) == .read)
        #expect(vault.tokens.scope(ofToken: gone.text, now: now) == nil)
        let store = vault.store
        _ = try await DestroyOperation(environment: vault.keys.environment).run(
            vaultID: try await vault.status().vaultID)
        #expect(try store.grants.all().grants.isEmpty)
        await vault.close()
    }
}
