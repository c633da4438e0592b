import Testing
import VaultModel

@testable import VaultCrypto

@Suite("Keyring")
struct KeyringTests {
    private static let resource = ResourceID(bytes: Array(repeating: 0x77, count: 32))

    @Test("A new keyring opens with its key and no other")
    func key() throws {
        let fixture = try KeyringFixture()
        let keyring = try fixture.unlock()
        #expect(keyring.revision == 1)
        #expect(keyring.currentGeneration == 1)
        #expect(keyring.activeGenerations == [1])
        #expect(keyring.newestLocator == 1)
        #expect(keyring.tokenEpoch == 1)
        #expect(keyring.unlockedBy == .keyFile)
        #expect(try KeyringReader.vaultID(of: fixture.file) == keyring.vaultID)
        for bit in 0..<256 { #expect(fixture.trouble(key: KeyringFixture.keyBytes.flipping(bit: bit)) == .wrongKey) }
    }

    @Test("A new keyring opens with its passphrase and no other")
    func passphrase() throws {
        let fixture = try KeyringFixture(passphrase: Array("correct horse".utf8))
        #expect(try fixture.unlock(passphrase: Array("correct horse".utf8)).unlockedBy == .passphrase)
        for wrong in ["correct horse ", "Correct horse", "correct hors", "x"] {
            let error = #expect(throws: VaultError.self) { try fixture.unlock(passphrase: Array(wrong.utf8)) }
            #expect(error?.code == .wrongKey)
        }
        // A key never opens a passphrase slot, and a passphrase opens no other kind of slot.
        #expect(fixture.trouble() == .wrongKey)
        let error = #expect(throws: VaultError.self) {
            try KeyringFixture().unlock(passphrase: Array("correct horse".utf8))
        }
        #expect(error?.code == .wrongKey)
    }

    @Test("The file is canonical JSON with one line end, and contains no plaintext key")
    func form() throws {
        let fixture = try KeyringFixture()
        let canonical = try JSONParser.parse(fixture.file).canonical
        #expect(fixture.file == canonical + [0x0A])
        let root = try fixture.rootKey().exposed
        for secret in [root, KeyringFixture.keyBytes] {
            let text = String(decoding: fixture.file, as: UTF8.self)
            #expect(!text.contains(Base64.encode(secret).dropLast(2)))
            #expect(!text.contains(Hex.encode(secret)))
        }
    }

    @Test("Two keyrings created with the same key share no sealed value")
    func fresh() throws {
        let (one, other) = (try KeyringFixture().object, try KeyringFixture().object)
        for name in ["vaultID", "tokenKey", "receiptKey", "checksum", "authenticator"] {
            #expect(try one.string(name) != other.string(name))
        }
        let resources = try [KeyringFixture(), KeyringFixture()].map {
            try $0.unlock().resourceID(cacheKey: [1], locator: 1)
        }
        #expect(resources[0] != resources[1])
    }

    @Test("A slot accepts only the kind of secret that its method takes, and only a cost that a reader accepts")
    func made() throws {
        func code(_ method: UnlockMethod, _ secret: consuming UnlockSecret, cost: Argon2id.Cost? = nil) -> VaultError
            .Code?
        {
            do {
                _ = try NewKeyring.make(with: secret, method: method, label: "", cost: cost, now: 0)
                return nil
            } catch {
                return (error as? VaultError)?.code
            }
        }
        let word = Array("word".utf8)
        #expect(code(.credential, .key(try SecretKey(repeating: 1))) == nil)
        #expect(code(.command, .key(try SecretKey(repeating: 1))) == nil)
        #expect(
            code(.passphrase, .key(try SecretKey(repeating: 1)), cost: try KeyringFixture.cheapCost())
                == .invalidArgument)
        #expect(code(.keyFile, .passphrase(try SecretBytes(word))) == .invalidArgument)
        let salt = Array(repeating: UInt8(0), count: 16)
        for cost in [
            Argon2id.Cost(salt: salt, opsLimit: 0, memLimit: 8 << 20),
            Argon2id.Cost(salt: salt, opsLimit: -1, memLimit: 8 << 20),
            Argon2id.Cost(salt: salt, opsLimit: 65, memLimit: 8 << 20),
            Argon2id.Cost(salt: salt, opsLimit: 1, memLimit: (8 << 20) - 1),
            Argon2id.Cost(salt: salt, opsLimit: 1, memLimit: (4 << 30) + 1),
            Argon2id.Cost(salt: [], opsLimit: 1, memLimit: 8 << 20),
        ] {
            #expect(code(.passphrase, .passphrase(try SecretBytes(word)), cost: cost) == .invalidArgument)
        }
    }

    @Test("A keyring created while the clock is before 1970 can be read")
    func earlyClock() throws {
        let file = try NewKeyring.make(
            with: .key(SecretKey(KeyringFixture.keyBytes)), method: .keyFile, label: "", now: -5)
        #expect(KeyringFixture(file: file).trouble() == nil)
    }

    @Test("Keys of several generations open, and those of a retired one do not")
    func generations() throws {
        let fixture = try KeyringFixture().rewritten { document, root in
            for number in Int64(2)...4 {
                let data = try KeyringDocument.associatedData(.generation, vaultID: document.vaultID, number: number)
                let key = try SealedValue.seal(SecureRandom.key("generation"), key: root, associatedData: data)
                document.generations.append(.init(number: number, created: 0, key: number == 3 ? nil : key, backups: 0))
            }
            document.current = 4
            document.revision += 1
        }
        let keyring = try fixture.unlock()
        #expect(keyring.activeGenerations == [1, 2, 4])
        #expect(keyring.currentGeneration == 4)
        #expect(keyring.revision == 2)
        let resource = try #require(Self.resource)
        let secret = try SecretKey(repeating: 0x3C)
        for generation in [1, 2, 4] {
            let wrapped = try #require(try keyring.wrap(secret, resource: resource, number: 1, generation: generation))
            let opened = try keyring.unwrap(wrapped, resource: resource, number: 1, generation: generation)
            #expect(opened?.secret.exposed == secret.exposed)
        }
        for generation in [0, 3, 5, -1, .max] {
            let wrapped = try keyring.wrap(secret, resource: resource, number: 1, generation: generation)
            #expect(wrapped == nil)
        }
    }

    @Test("A wrapped key is bound to its resource, number, generation and keyring")
    func wrapping() throws {
        let fixture = try KeyringFixture().rewritten { document, root in
            let data = try KeyringDocument.associatedData(.generation, vaultID: document.vaultID, number: 2)
            let key = try SealedValue.seal(SecureRandom.key("generation"), key: root, associatedData: data)
            document.generations.append(.init(number: 2, created: 0, key: key, backups: 0))
        }
        let keyring = try fixture.unlock()
        let resource = try #require(Self.resource)
        let other = try #require(ResourceID(bytes: resource.bytes.flipping(bit: 255)))
        let secret = try SecretKey(repeating: 0x3C)
        let wrapped = try #require(try keyring.wrap(secret, resource: resource, number: 1, generation: 1))
        #expect(wrapped.count == 60)

        func opens(_ bytes: [UInt8], _ resource: ResourceID, _ number: Int, _ generation: Int) throws -> Bool {
            try keyring.unwrap(bytes, resource: resource, number: number, generation: generation) != nil
        }
        #expect(try opens(wrapped, resource, 1, 1))
        #expect(try !opens(wrapped, other, 1, 1))
        #expect(try !opens(wrapped, resource, 2, 1))
        #expect(try !opens(wrapped, resource, 1, 2))
        #expect(try !opens(wrapped, resource, 1, 3))
        for bit in 0..<(60 * 8) { #expect(try !opens(wrapped.flipping(bit: bit), resource, 1, 1)) }
        for count in 0..<60 { #expect(try !opens(Array(wrapped.prefix(count)), resource, 1, 1)) }
        let foreign = try KeyringFixture().unlock().unwrap(wrapped, resource: resource, number: 1, generation: 1)
        #expect(foreign == nil)
    }

    @Test("Derived names depend on cache key, locator and purpose")
    func names() throws {
        let keyring = try KeyringFixture().unlock()
        let resource = try #require(keyring.resourceID(cacheKey: [1], locator: 1))
        #expect(keyring.resourceID(cacheKey: [1], locator: 1) == resource)
        #expect(keyring.resourceID(cacheKey: [2], locator: 1) != resource)
        #expect(keyring.principal([1], locator: 1) != resource.bytes)
        #expect(keyring.resourceID(cacheKey: [1], locator: 2) == nil)
        #expect(keyring.principal([1], locator: 0) == nil)
        let missing = try (keyring.recordKey(generation: 2), keyring.formerRecordKey(locator: 2))
        #expect(missing.0 == nil && missing.1 == nil)
        #expect(keyring.token(.capability, [1]) != keyring.token(.token, [1]))
        #expect(keyring.token(.capability, [1]) != keyring.token(.capability, [2]))
    }

    @Test("Rewriting the keyring keeps members that are unknown to this version")
    func unknownMembers() throws {
        let extra = JSONValue.object(["é/": .array([.integer(1), .null, .bool(true)])])
        let base = try KeyringFixture().forged { object in
            object["later"] = extra
            for name in ["slots", "locators", "generations"] {
                var list = try object.objects(name)
                list[0]["later"] = extra
                object[name] = .array(list.map { .object($0.members) })
            }
        }
        let rewritten = try base.rewritten { document, _ in document.revision += 1 }
        #expect(rewritten.trouble() == nil)
        let object = try rewritten.object
        #expect(object["later"] == extra)
        for name in ["slots", "locators", "generations"] { #expect(try object.objects(name)[0]["later"] == extra) }
        #expect(try rewritten.unlock().revision == 2)
    }
}
