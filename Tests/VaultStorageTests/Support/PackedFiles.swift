import SeededRandom
import Testing
import VaultCrypto
import VaultModel
import VaultTestSupport

@testable import VaultStorage

/// Small files of a title, written into a pack.
struct PackedFiles {
    /// The files, by their names. Their sizes do not match blocks, and one extends over several blocks.
    static let sizes = [1000, 40_000, 16, 70_001, 32_768]
    static let title = Array("http://origin.example/master.m3u8".utf8)

    let names: [String]
    let contents: [[UInt8]]

    init(_ prefix: String = "", seed: UInt64 = 7) {
        names = Self.sizes.indices.map { "\(prefix)\($0 + 1).ts" }
        contents = Self.sizes.enumerated().map { SeededGenerator.bytes($1, seed: seed + UInt64($0)) }
    }

    static func id(of name: String, in store: VaultStore, locator: Int? = nil) throws -> ResourceID {
        let key = Array("http://origin.example/\(name)".utf8)
        return try #require(store.keyring.resourceID(cacheKey: key, locator: locator ?? store.index.locator))
    }

    func part(_ index: Int, at offset: Int64, in store: VaultStore) throws -> PackedPart {
        let url = "http://origin.example/\(names[index])"
        var metadata = ResourceMetadata(url: url, cacheKey: Array(url.utf8), created: 1)
        metadata.serving = try SecureRandom.identifier("representation id")
        let information = ContentInformation(
            length: Int64(contents[index].count), type: "video/mp2t",
            validators: Validators(entityTag: EntityTag(strong: names[index])), supportsRanges: true)
        let info = RepresentationInfo(sequence: 1, information: information, retrieved: 1)
        return try #require(PackedPart(Self.id(of: names[index], in: store), metadata, info, at: offset))
    }

    /// Adds an empty pack, and the manifest of its title unless it is there.
    static func addPack(to store: VaultStore, title: [UInt8] = title) throws -> StoredResource {
        let id = try #require(store.keyring.resourceID(cacheKey: title, locator: store.index.locator))
        let url = "http://origin.example/master.m3u8"
        if try !store.index.resources.has(id) {
            _ = try store.resources.add(id, url: url, cacheKey: title, resourceClass: .download)
        }
        return try store.resources.addPack(of: title, url: url, resourceClass: .download)
    }

    /// Writes all files into a new pack.
    func store(in store: VaultStore, title: [UInt8] = title) throws -> StoredResource {
        let pack = try Self.addPack(to: store, title: title)
        var writer = try store.segments.begin(at: 0, of: pack)
        var waiting: [PackedPart] = []
        for index in names.indices {
            waiting.append(try part(index, at: writer.end, in: store))
            try writer.append(contents[index][...])
        }
        let refused = try store.segments.close(writer, recording: &waiting, in: pack.id)
        #expect(refused.isEmpty && waiting.isEmpty)
        return pack
    }

    /// Requires that each file is held whole, and that exactly its own bytes are read.
    func check(_ store: VaultStore, locator: Int? = nil, _ comment: Comment = "") throws {
        for (name, content) in zip(names, contents) {
            let id = try Self.id(of: name, in: store, locator: locator)
            let resource = try #require(try store.index.resources.find(id), comment)
            #expect(resource.serving?.held == ByteRanges(0..<Int64(content.count)), "\(name) \(comment)")
            #expect(try store.read(resource).flatMap(\.bytes) == content, "\(name) \(comment)")
        }
    }

    /// Returns how many of the files the index knows.
    func count(in store: VaultStore) throws -> Int {
        try names.count { try store.index.resources.find(Self.id(of: $0, in: store)) != nil }
    }
}
