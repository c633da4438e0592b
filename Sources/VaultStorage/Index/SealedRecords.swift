import VaultCrypto
package import VaultModel

/// The metadata of a resource, sealed in `resource.metadata`.
package struct ResourceMetadata: Sendable {
    /// The URL as the caller stated it.
    package var url: String
    /// The bytes whose keyed hash is the resource's id.
    package internal(set) var cacheKey: [UInt8]
    /// The representation from which the resource is read; nil until there is one.
    package var serving: RepresentationID?
    /// When the resource was created, in seconds since 1970.
    package let created: Int64
    /// All members, including those that this version does not know.
    var members: JSONObject

    package init(url: String, cacheKey: [UInt8], created: Int64) {
        self.url = url
        self.cacheKey = cacheKey
        self.created = created
        members = JSONObject()
    }

    init?(_ object: JSONObject) {
        guard let url = try? object.string("url"), let cacheKey = try? object.base64("cacheKey"),
            let created = try? object.integer("created")
        else { return nil }
        self.url = url
        self.cacheKey = cacheKey
        self.created = created
        members = object
        guard case .string(let hex)? = object["serving"] else { return }
        guard let id = RepresentationID(hex: hex) else { return nil }
        serving = id
    }

    var object: JSONObject {
        var object = members
        object["url"] = .string(url)
        object["cacheKey"] = .string(Base64.encode(cacheKey))
        object["serving"] = serving.map { .string($0.hex) } ?? .null
        object["created"] = .integer(created)
        return object
    }
}

extension ResourceMetadata {
    /// Whether the URL came from a manifest or a redirect rather than from the operator. If so, it is fetched only from
    /// public addresses.
    package var isDerived: Bool {
        get { members["derived"] == .bool(true) }
        set { members["derived"] = newValue ? .bool(true) : nil }
    }

    /// The request header fields, and the only origin to which they are sent.
    ///
    /// Invalid members count as absent.
    package var fields: OriginFields? {
        get { OriginFields(members) }
        set { OriginFields.write(newValue, to: &members) }
    }
}

extension ResourceMetadata {
    /// The resource's own mode; nil if the vault's mode applies, or if this version does not know the mode.
    package var mode: VaultMode? {
        get {
            guard case .string(let name)? = members["mode"] else { return nil }
            return VaultMode(rawValue: name)
        }
        set { members["mode"] = newValue.map { .string($0.rawValue) } }
    }

    /// Whether the resource has a mode of its own, whether or not this version knows that mode.
    var hasMode: Bool {
        if case .string? = members["mode"] { true } else { false }
    }
}

// The name of a title, and the resources that belong to it.
extension ResourceMetadata {
    /// The title's id, if the resource id no longer begins with it because the resource id was computed anew.
    ///
    /// An invalid member counts as absent.
    package var keptID: TitleID? {
        get { if case .string(let text)? = members["id"] { TitleID(text) } else { nil } }
        set { members["id"] = newValue.map { .string($0.description) } }
    }

    /// The name that a person sees; nil if none was set or found.
    package var name: String? {
        get { if case .string(let name)? = members["name"] { name } else { nil } }
        set { members["name"] = newValue.map { .string($0) } }
    }

    /// The playing time of the title's media, in milliseconds; nil if the media does not state it.
    ///
    /// An invalid member counts as absent.
    package var duration: Int64? {
        get { if case .integer(let duration)? = members["duration"], duration > 0 { duration } else { nil } }
        set { members["duration"] = newValue.map { .integer($0) } }
    }

    /// What the title's media state about its album or series; nil if they state nothing, or were not read.
    package var tags: TitleTags? {
        get { members["tags"].flatMap { try? JSONObject($0, name: "tags") }.map { TitleTags($0) } }
        set { members["tags"] = newValue.map { .object($0.record.members) } }
    }

    /// The name of the collection into which the owner moved the title; nil if the title was not moved.
    ///
    /// An invalid member counts as absent.
    package var collection: String? {
        get { text("collection") }
        set { members["collection"] = newValue.map { .string($0) } }
    }

    /// The name that the owner gave to the title's own collection; nil if it has none.
    ///
    /// An invalid member counts as absent.
    package var collectionName: String? {
        get { text("collectionName") }
        set { members["collectionName"] = newValue.map { .string($0) } }
    }

    /// When a feed says that the title was published, in seconds since 1970; nil if none does.
    package var published: Int64? {
        get { if case .integer(let time)? = members["published"] { time } else { nil } }
        set { members["published"] = newValue.map { .integer($0) } }
    }

    private func text(_ name: String) -> String? {
        if case .string(let text)? = members[name], !text.isEmpty { text } else { nil }
    }

    /// The record of what was fetched of a title, if the resource is the title's manifest.
    package var title: JSONObject? {
        get { members["title"].flatMap { try? JSONObject($0, name: "title") } }
        set { members["title"] = newValue.map { .object($0.members) } }
    }

    /// The subtitles that were added to the title: by language, the cache key of the part that has them.
    ///
    /// Invalid members count as absent.
    package var subtitles: [String: [UInt8]] {
        get {
            guard case .object(let keys)? = members["subtitles"] else { return [:] }
            return keys.filter { LanguageList.isTag($0.key) }.compactMapValues {
                if case .string(let text) = $0 { Base64.decode(text) } else { nil }
            }
        }
        set {
            members["subtitles"] = newValue.isEmpty ? nil : .object(newValue.mapValues { .string(Base64.encode($0)) })
        }
    }

    /// Whether the resource is subtitles that were added to a title, which no fetch of the title brings back.
    var isAddedSubtitles: Bool { cacheKey.starts(with: "subtitles:".utf8) }

    /// Returns a new cache key for subtitles that are added to a title, which no URL produces.
    package static func subtitlesKey(_ random: [UInt8]) -> [UInt8] { Array("subtitles:\(Hex.encode(random))".utf8) }

    /// The titles that the resource is a part of. Each is identified by its manifest's cache key, which stays the same
    /// when the locator changes.
    ///
    /// Invalid members count as absent.
    package var partOf: [[UInt8]] {
        get {
            guard case .array(let keys)? = members["partOf"] else { return [] }
            return keys.compactMap { if case .string(let text) = $0 { Base64.decode(text) } else { nil } }
        }
        set {
            let keys = newValue.suffix(Self.maxTitles).map { JSONValue.string(Base64.encode($0)) }
            members["partOf"] = keys.isEmpty ? nil : .array(keys)
        }
    }

    /// Whether the resource was requested or pinned by its own name, so that it is kept when its titles are removed or
    /// evicted.
    package var isOwn: Bool {
        get { members["own"] == .bool(true) }
        set { members["own"] = newValue ? .bool(true) : nil }
    }

    /// Whether ``partOf`` still has every title that was added to it.
    var namesAllTitles: Bool { partOf.count < Self.maxTitles }

    /// Replaces the cache keys with their new forms.
    mutating func rename(_ renamed: ([UInt8]) -> [UInt8]) {
        cacheKey = renamed(cacheKey)
        partOf = partOf.map(renamed)
    }

    /// The maximum number of titles that a part records. If more titles share it, only the latest are recorded.
    private static let maxTitles = 64
}

extension ResourceMetadata {
    /// The prefix of a pack's cache key, which no cache key of a URL or a content id has.
    private static let packPrefix = Array("pack:".utf8)

    /// Returns a new cache key for a pack, which no URL produces.
    package static func packKey(_ random: [UInt8]) -> [UInt8] { packPrefix + Hex.encode(random).utf8 }

    /// Whether the resource is a pack, whose bytes are those of many small files.
    package var isPack: Bool { cacheKey.starts(with: Self.packPrefix) }
}

extension ResourceMetadata {
    /// The number of the reseal that created the resource's key in use; 0 if that is its first key.
    var resealRun: Int64 {
        get {
            guard case .integer(let run)? = members["reseal"] else { return 0 }
            return run
        }
        set { members["reseal"] = .integer(newValue) }
    }
}

/// The information about a representation, sealed in `representation.info`.
package struct RepresentationInfo: Sendable {
    /// The position among the resource's representations, counted from 1 in the order of their creation.
    package let sequence: Int64
    /// The length, type, validators and range support.
    package var information: ContentInformation
    /// When the representation was first fetched, in seconds since 1970.
    package let retrieved: Int64
    /// How long the representation counts as current; nil if that was not recorded.
    package var freshness: Freshness?
    /// All members, including those that this version does not know.
    private var members: JSONObject

    package init(sequence: Int64, information: ContentInformation, retrieved: Int64, freshness: Freshness? = nil) {
        self.sequence = sequence
        self.information = information
        self.retrieved = retrieved
        self.freshness = freshness
        members = JSONObject()
    }

    init?(_ object: JSONObject) {
        do {
            sequence = try object.integer("sequence")
            retrieved = try object.integer("retrieved")
            let tag = try object.optionalString("etag")
            information = ContentInformation(
                length: try object.optionalInteger("length"), type: try object.optionalString("type"),
                validators: Validators(
                    entityTag: tag.flatMap { EntityTag($0) }, lastModified: try object.optionalString("lastModified")),
                supportsRanges: try object.bool("ranges"))
            // Older vaults have no location. If the value is not a URL, only the references in a redirected manifest
            // are lost.
            if case .string(let text)? = object["location"] { information.location = try? MediaURL(text) }
            // A value that is not a URL counts as unknown, as does the missing value in older vaults.
            if case .string(let text)? = object["source"] { information.source = try? MediaURL(text) }
            information.isImported = object["imported"] == .bool(true)
            if case .array(let hosts)? = object["privateHosts"] {
                let names = hosts.compactMap { if case .string(let name) = $0 { name } else { nil } }
                // A list that cannot be read counts as unknown, which grants the least.
                if names.count == hosts.count { information.privateHosts = Set(names) }
            }
        } catch {
            return nil
        }
        freshness = Freshness(object)
        members = object
    }

    var object: JSONObject {
        func text(_ value: String?) -> JSONValue { value.map { .string($0) } ?? .null }
        var object = members
        object["sequence"] = .integer(sequence)
        object["length"] = information.length.map { .integer($0) } ?? .null
        object["type"] = text(information.type)
        object["etag"] = text(information.validators.entityTag?.description)
        object["lastModified"] = text(information.validators.lastModified)
        object["ranges"] = .bool(information.supportsRanges)
        object["location"] = information.location.map { .string($0.absoluteString) }
        object["source"] = information.source.map { .string($0.absoluteString) }
        object["privateHosts"] = information.privateHosts.map { .array($0.sorted().map { .string($0) }) }
        object["imported"] = information.isImported ? .bool(true) : nil
        object["retrieved"] = .integer(retrieved)
        freshness?.write(to: &object)
        return object
    }
}

// The freshness of a representation, stored among the members of its information.
extension Freshness {
    /// Creates a freshness from members; nil if they are invalid, which only causes one more revalidation.
    init?(_ object: JSONObject) {
        guard let checked = try? object.integer("checked"), let lifetime = try? object.integer("lifetime"),
            let isStrict = try? object.bool("strict")
        else { return nil }
        self.init(checked: checked, lifetime: lifetime, isStrict: isStrict)
    }

    func write(to object: inout JSONObject) {
        object["checked"] = .integer(checked)
        object["lifetime"] = .integer(lifetime)
        object["strict"] = .bool(isStrict)
    }
}

/// JSON that is sealed into a column. It is padded with spaces to a multiple of 256 bytes, so that its length reveals
/// little.
enum SealedDocument {
    /// The number of bytes to a multiple of which plaintext is padded.
    static let step = 256

    static func seal(_ object: JSONObject, key: borrowing SecretKey, associatedData: [UInt8]) throws -> [UInt8] {
        var plaintext = JSONValue.object(object.members).canonical
        plaintext += Array(repeating: 0x20, count: (step - plaintext.count % step) % step)
        return try SealedValue.seal(plaintext, key: key, associatedData: associatedData)
    }

    /// Returns the opened object; nil if the tag is wrong or the content is not a JSON object.
    static func open(_ sealed: [UInt8], key: borrowing SecretKey, associatedData: [UInt8]) -> JSONObject? {
        guard let plaintext = SealedValue.open(sealed, key: key, associatedData: associatedData),
            let value = try? JSONParser.parse(plaintext)
        else { return nil }
        return try? JSONObject(value, name: "")
    }

    /// Returns `table ‖ 00 ‖ column ‖ 00 ‖ ids`.
    static func associatedData(_ table: String, _ column: String, _ ids: [UInt8]...) -> [UInt8] {
        ids.reduce(Array(table.utf8) + [0] + Array(column.utf8) + [0], +)
    }
}
