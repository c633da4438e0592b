package import VaultModel

/// An entry of the download queue, sealed in `download.record`.
package struct QueuedDownload: Sendable {
    /// The state of an entry.
    package enum State: String, Sendable {
        /// The entry runs when its turn comes.
        case waiting
        /// The entry waits until it is resumed.
        case paused
        /// The entry failed permanently, and waits until it is retried or cancelled.
        case failed
    }

    /// Why the last attempt failed.
    package struct Failure: Hashable, Sendable {
        package let code: String
        package let message: String
        /// The HTTP status that the origin sent, if it refused the request.
        package let status: Int64?

        package init(code: String, message: String, status: Int64?) {
            self.code = code
            self.message = message
            self.status = status
        }
    }

    package let id: DownloadID
    /// What to fetch, and how.
    package var order: DownloadOrder
    /// The id of the entry's title, by which people refer to the entry.
    package var title: TitleID
    /// When the entry was queued, in seconds since 1970.
    package let added: Int64
    /// The entry's place in the queue. The entry with the lowest position runs first.
    package var position: Int64
    package var state = State.waiting
    /// The number of temporary failures since the download last made progress or a person last retried it.
    package var attempts: Int64 = 0
    /// The earliest time of the next attempt, in seconds since 1970; nil if the entry may run at once.
    package var notBefore: Int64?
    package var failure: Failure?
    /// The members that this version does not know.
    private var unknown = JSONObject()

    /// The maximum number of entries in a queue.
    package static let most = 100_000
    /// The valid positions.
    package static let positions = 0...JSONValue.largestInteger
    /// The position of the first entry added to an empty queue. It leaves room before and after it.
    package static let middle: Int64 = 1 << 52
    private static let attemptNumbers: ClosedRange<Int64> = 0...(1 << 31)

    package init(_ id: DownloadID, _ order: DownloadOrder, title: TitleID, added: Int64, position: Int64) {
        self.id = id
        self.order = order
        self.title = title
        self.added = added
        self.position = position
    }

    /// Creates the entry from its record; nil if a member is missing or invalid.
    init?(_ id: DownloadID, _ object: JSONObject) {
        do {
            guard let order = DownloadOrder(object), let title = TitleID(try object.string("title")),
                let state = State(rawValue: try object.string("state"))
            else { return nil }
            (self.id, self.order, self.title, self.state) = (id, order, title, state)
            added = try object.integer("added")
            position = try object.integer("position")
            attempts = try object.optionalInteger("attempts") ?? 0
            notBefore = try object.optionalInteger("notBefore")
            guard PlainColumn.hours.contains(added), Self.positions.contains(position),
                Self.attemptNumbers.contains(attempts), PlainColumn.hours.contains(notBefore ?? 0)
            else { return nil }
            if let failure = try object["failure"].map({ try JSONObject($0, name: "failure") }) {
                self.failure = Failure(
                    code: try failure.string("code"), message: try failure.string("message"),
                    status: try failure.optionalInteger("status"))
            }
        } catch {
            return nil
        }
        unknown = object
        for name in DownloadOrder.members + Self.members { unknown[name] = nil }
    }

    private static let members = ["title", "added", "position", "state", "attempts", "notBefore", "failure"]

    var object: JSONObject {
        var object = unknown
        order.write(to: &object)
        object["title"] = .string(title.description)
        object["added"] = .integer(added)
        object["position"] = .integer(position)
        object["state"] = .string(state.rawValue)
        object["attempts"] = attempts == 0 ? nil : .integer(min(attempts, Self.attemptNumbers.upperBound))
        object["notBefore"] = notBefore.map { .integer($0) }
        object["failure"] = failure.map { failure in
            var members: [String: JSONValue] = ["code": .string(failure.code), "message": .string(failure.message)]
            members["status"] = failure.status.map { .integer($0) }
            return .object(members)
        }
        return object
    }
}

/// What an entry of the download queue is to fetch, and how.
package struct DownloadOrder: Hashable, Sendable {
    /// The URL as it is requested, without user info.
    package var url: String
    /// The caller's own name for the resource.
    package var contentID: String?
    /// The request header fields, and the only origin that they are sent to.
    package var fields: OriginFields?
    /// Whether the URL came from a manifest or a redirect rather than from the operator.
    package var isDerived = false
    /// Whether the title was requested by its id, so that it is fetched as the vault has stored it.
    package var isByID = false
    package var connections: Int64?
    /// The maximum number of bytes per second.
    package var rate: Int64?
    /// The selection of video renditions, as text; nil if only the manifest is to be fetched.
    package var video: String?
    /// The same for audio renditions.
    package var audio: String?
    /// The same for subtitles.
    package var subtitles: String?
    /// The name to give to the title.
    package var name: String?
    /// Whether to refuse anything but media.
    package var requiresMedia = false
    /// The picture that a feed names for the title; nil if it names none.
    package var picture: ListedPicture?
    /// When the title was published, in seconds since 1970; nil if that is not known.
    package var published: Int64?

    package init(url: String) { self.url = url }

    static let members = [
        "url", "contentID", "name", "connections", "rate", "video", "audio", "subtitles", "derived", "byID",
        "mediaOnly", "fields", "fieldsOrigin", "picture", "published",
    ]

    /// Creates the order from the members of a record; nil if a member is missing or invalid.
    init?(_ object: JSONObject) {
        do {
            url = try object.string("url")
            contentID = try object.optionalString("contentID")
            name = try object.optionalString("name")
            connections = try object.optionalInteger("connections")
            rate = try object.optionalInteger("rate")
            video = try object.optionalString("video")
            audio = try object.optionalString("audio")
            subtitles = try object.optionalString("subtitles")
            published = try object.optionalInteger("published")
            isDerived = object["derived"] == .bool(true)
            isByID = object["byID"] == .bool(true)
            requiresMedia = object["mediaOnly"] == .bool(true)
            if object["fields"] != nil || object["fieldsOrigin"] != nil {
                // Without its header fields, the request could fetch another resource.
                guard let fields = OriginFields(object) else { return nil }
                self.fields = fields
            }
            picture = try object["picture"].map { try ListedPicture(JSONObject($0, name: "picture")) }
        } catch {
            return nil
        }
        guard (1...JSONValue.largestInteger).contains(connections ?? 1),
            (1...JSONValue.largestInteger).contains(rate ?? 1)
        else { return nil }
    }

    /// Writes the order to the members of a record.
    func write(to object: inout JSONObject) {
        object["url"] = .string(url)
        let texts = [
            "contentID": contentID, "name": name, "video": video, "audio": audio, "subtitles": subtitles,
        ]
        for (member, text) in texts { object[member] = text.map { .string($0) } }
        object["published"] = published.map { .integer($0) }
        object["connections"] = connections.map { .integer($0) }
        object["rate"] = rate.map { .integer($0) }
        for (member, isSet) in [("derived", isDerived), ("byID", isByID), ("mediaOnly", requiresMedia)] {
            object[member] = isSet ? .bool(true) : nil
        }
        OriginFields.write(fields, to: &object)
        object["picture"] = picture.map { $0.value }
    }
}

/// A picture that a feed names for a title, and how to request it.
package struct ListedPicture: Hashable, Sendable {
    /// The URL, without user info.
    package let url: String
    /// The request header fields, and the only origin that they are sent to.
    package let fields: OriginFields?
    /// Whether to request the picture only from public addresses.
    package let isDerived: Bool

    package init(url: String, fields: OriginFields?, isDerived: Bool) {
        (self.url, self.fields, self.isDerived) = (url, fields, isDerived)
    }

    fileprivate init(_ object: JSONObject) throws {
        self.init(
            url: try object.string("url"), fields: OriginFields(object), isDerived: object["derived"] == .bool(true))
    }

    fileprivate var value: JSONValue {
        var object = JSONObject(["url": .string(url)])
        if isDerived { object["derived"] = .bool(true) }
        OriginFields.write(fields, to: &object)
        return .object(object.members)
    }
}

// Request header fields and their origin, as members of sealed records.
extension OriginFields {
    /// Creates the fields from the members `fields` and `fieldsOrigin`; nil if one is missing or invalid.
    init?(_ members: JSONObject) {
        guard case .string(let origin)? = members["fieldsOrigin"], case .array(let pairs)? = members["fields"]
        else { return nil }
        var fields = HeaderFields()
        for pair in pairs {
            guard case .array(let texts) = pair, texts.count == 2, case .string(let name) = texts[0],
                case .string(let value) = texts[1]
            else { return nil }
            fields.append(name: name, value: value)
        }
        self.init(origin: origin, fields: fields)
    }

    /// Writes the members `fields` and `fieldsOrigin`, or removes them if `given` is nil.
    static func write(_ given: OriginFields?, to members: inout JSONObject) {
        members["fieldsOrigin"] = given.map { .string($0.origin) }
        members["fields"] = given.map { given in
            .array(given.fields.fields.map { .array([.string($0.name), .string($0.value)]) })
        }
    }
}
