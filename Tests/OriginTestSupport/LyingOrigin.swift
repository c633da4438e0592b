import SeededRandom
import VaultModel

/// An origin that sends valid or invalid answers at random, the same for the same seed.
///
/// It lies about framing, lengths, ranges, validators, encodings and time, but only in ways that can be noticed: a body
/// has the bytes of one version of the title at the place that the head names, or more or fewer bytes than the head
/// states.
package struct LyingOrigin: Sendable {
    /// How the versions of a title can be distinguished.
    package enum Proof: CaseIterable, Sendable {
        case strongTag, date
        /// Nothing distinguishes them, so a version is bound to its connection.
        case weakTag, dateOfThisSecond, none

        var isProof: Bool { self == .strongTag || self == .date }
    }

    package let seed: UInt64
    /// The versions that a title changes between.
    private static let versions = 3
    /// The number of connections before the next version, if versions can be distinguished. A connection has one
    /// version.
    private static let connectionsOfVersion = 20
    private static let now = "Sun, 06 Nov 1994 08:49:37 GMT"

    /// Whether it writes bytes to a connection; otherwise a transport passes on its answers.
    let isOnWire: Bool

    package init(seed: UInt64, isOnWire: Bool) { (self.seed, self.isOnWire) = (seed, isOnWire) }

    /// Returns the versions of the title at a target, all of one length.
    package func versions(of target: String) -> [PseudoRandomMedia] {
        let length = 1 + Int64(number(for: target, 1) % 120_000)
        return (0..<Self.versions).map { PseudoRandomMedia(seed: number(for: target, 2 + $0), length: length) }
    }

    package func proof(of target: String) -> Proof {
        Proof.allCases[Int(number(for: target, 0) % UInt64(Proof.allCases.count))]
    }

    /// Returns the answer to a request, valid or not.
    package func answer(to request: ScriptedRequest) -> ScriptedAnswer {
        var random = SeededGenerator(seed: seed &+ UInt64(request.number) &* 0x9E37_79B9)
        let (target, proof) = (request.title, proof(of: request.title))
        let version = request.connection / (proof.isProof ? Self.connectionsOfVersion : 1)
        var resource = ScriptedResource(seed: 0, length: 0, entityTag: nil)
        resource.media = versions(of: target)[version % Self.versions]
        switch proof {
        case .strongTag: resource.entityTag = "\"v\(version % Self.versions)\""
        case .weakTag: resource.entityTag = "W/\"v\""
        case .date: resource.lastModified = "Sun, 06 Nov 1994 0\(version % Self.versions):49:37 GMT"
        case .dateOfThisSecond: resource.lastModified = Self.now
        case .none: break
        }
        var answer = resource.answer(to: request)
        answer.set("Date", Self.now)
        // One lie at a time, and one about time, because two may conceal each other.
        if random.next(2) == 0 {
            switch random.next(isOnWire ? 5 : 4) {
            case 0: Self.lieAboutFraming(&answer, &random)
            case 1: Self.lieAboutRange(&answer, resource.media, &random)
            case 2: Self.lieAboutEncoding(&answer, &random)
            case 3: Self.lieAboutStatus(&answer, request, &random)
            default: Self.lieOnWire(&answer, &random)
            }
        }
        if random.next(2) == 0 { Self.lieAboutTime(&answer, &random) }
        return answer
    }

    private func number(for target: String, _ use: Int) -> UInt64 {
        var word = seed &+ UInt64(use)
        for byte in target.utf8 { word = (word ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
        var random = SeededGenerator(seed: word)
        return random.next()
    }
}

extension ScriptedRequest {
    /// The target without the part that a redirect added.
    fileprivate var title: String { String(target.prefix { $0 != "?" }) }
}

extension SeededGenerator {
    /// Returns a number below `bound`.
    fileprivate mutating func next(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }
}

extension LyingOrigin {
    /// Lies that also reach a transport that reads HTTP itself.
    private static func lieAboutFraming(_ answer: inout ScriptedAnswer, _ random: inout SeededGenerator) {
        let isPart = answer.status == 206
        switch random.next(8) {
        case 0: answer.cut(at: place(in: answer, &random), by: .reset)
        case 1:
            if random.next(2) == 0 { answer.sendInChunks() }
            answer.cut(at: place(in: answer, &random), by: .close)
        case 2: answer.sendInChunks()
        case 3: answer.body.append(.bytes(garbage(5000, &random)))
        case 4: answer.closes = true
        case 5:
            guard let length = answer.value("Content-Length").flatMap({ Int64($0) }) else { return }
            answer.set("Content-Length", "\(length + 1 + Int64(random.next(9000)))")
            answer.closes = true
        case 6:
            let lengths = ["-1", "0x10", "", "1, 2", "99999999999999999999", "5"]
            answer.fields.append(("Content-Length", lengths[random.next(lengths.count)]))
        default:
            // Excess bytes can be noticed only if the head states a length.
            guard isPart else { return }
            answer.sendInChunks()
            // The first bytes are right, because a player has received them before the excess arrives.
            if random.next(2) == 0 {
                answer.body += answer.body
            } else {
                answer.body.append(.bytes(garbage(5000, &random)))
            }
        }
    }

    /// Lies in the bytes of a connection.
    private static func lieOnWire(_ answer: inout ScriptedAnswer, _ random: inout SeededGenerator) {
        switch random.next(4) {
        case 0:
            let trailers = ["Content-Range: bytes 0-0/1", "Content-Length: 1", "ETag: \"v9\"", "X: y"]
            let trailer = trailers[random.next(trailers.count)]
            sendOwnChunks(&answer, end: "0\r\n\(trailer)\r\n\r\n", &random)
        case 1:
            let ends = ["", "FFFFFFFFFFFFFFFFF\r\n", "zz\r\n", "-1\r\n", "5\r\n", "0"]
            sendOwnChunks(&answer, end: ends[random.next(ends.count)], &random)
            answer.body.append(.close)
        case 2: answer.fields.append(("Transfer-Encoding", "identity"))
        default:
            let heads = ["", "\r\n\r\n", "HTTP/9.9 200\r\n\r\n", "ICY 200 OK\r\n", "HTTP/1.1 2"]
            answer = .raw(heads[random.next(heads.count)])
        }
    }

    private static func lieAboutRange(
        _ answer: inout ScriptedAnswer, _ media: PseudoRandomMedia, _ random: inout SeededGenerator
    ) {
        guard answer.status == 206, let range = answer.range else {
            switch random.next(3) {
            case 0: if answer.status == 200 { answer.status = 206 }
            case 1: answer.set("Content-Range", "bytes 0-\(random.next(1000))/\(1000 + random.next(1000))")
            default: refuse(&answer, media, &random)
            }
            return
        }
        switch random.next(9) {
        case 0:
            // Another part, labelled as such.
            let (one, other) = (Int64(random.next(Int(media.length))), Int64(random.next(Int(media.length))))
            answer.give(min(one, other)..<max(one, other) + 1, of: media)
        case 1: answer.give(Int64(random.next(Int(range.lowerBound) + 1))..<range.upperBound, of: media)
        case 2: answer.give(range.lowerBound..<range.lowerBound + (range.length + 1) / 2, of: media)
        case 3:
            let labels = [
                "bytes */\(media.length)", "items 0-1/2", "bytes 5-1/\(media.length)", "bytes 0-1/1", "bytes", "0-1/2",
                "bytes 0-18446744073709551616/*", "bytes -5/\(media.length)",
            ]
            answer.set("Content-Range", labels[random.next(labels.count)])
        case 4:
            let totals: [Int64?] = [nil, media.length + 1 + Int64(random.next(1000)), .max]
            let total = totals[random.next(totals.count)]
            answer.set("Content-Range", ContentRange.bytes(range, total: total).description)
        case 5: answer.fields.append(("Content-Range", "bytes 0-\(random.next(1000))/\(1000 + random.next(1000))"))
        case 6: answer.set("Content-Range", nil)
        case 7: answer.status = 200
        default: answer.set("Content-Type", "multipart/byteranges; boundary=\(random.next(9))")
        }
    }

    private static func refuse(
        _ answer: inout ScriptedAnswer, _ media: PseudoRandomMedia, _ random: inout SeededGenerator
    ) {
        answer = ScriptedAnswer(416, fields: ["Content-Length": "0"])
        let labels = ["bytes */\(media.length)", "bytes */9999999"]
        if random.next(3) > 0 { answer.set("Content-Range", labels[random.next(labels.count)]) }
    }

    private static func lieAboutEncoding(_ answer: inout ScriptedAnswer, _ random: inout SeededGenerator) {
        let codings = [
            "gzip", "br", "deflate", "x-gzip", "gzip, gzip", "zstd", "aes128gcm", "identity", "UTF-8", "binary", "none",
            "",
        ]
        answer.set("Content-Encoding", codings[random.next(codings.count)])
    }

    private static func lieAboutStatus(
        _ answer: inout ScriptedAnswer, _ request: ScriptedRequest, _ random: inout SeededGenerator
    ) {
        switch random.next(5) {
        case 0:
            let statuses = [201, 204, 205, 226, 299, 300, 304, 400, 403, 404, 410, 429, 500]
            answer = ScriptedAnswer(statuses[random.next(statuses.count)], fields: ["Content-Length": "0"])
        case 1:
            let times = ["0", "x", "-1", "99999999999"]
            answer = ScriptedAnswer(503, fields: ["Content-Length": "0"])
            answer.set("Retry-After", times[random.next(times.count)])
        case 2:
            let own = request.target + (request.target.contains("?") ? "r" : "?r")
            let places = [own, own, own, "", "file:///etc/passwd", "http://127.0.0.1:1/", "//", "https://"]
            answer = .redirect([301, 302, 303, 307, 308][random.next(5)], to: places[random.next(places.count)])
        case 3:
            let heads = [
                "100 Continue\r\n", "103 Early Hints\r\nLink: </x>\r\nContent-Length: 5\r\n",
                "102 Processing\r\nETag: \"v8\"\r\nContent-Range: bytes 0-1/2\r\n",
            ]
            answer.before.append(.bytes(Array("HTTP/1.1 \(heads[random.next(heads.count)])\r\n".utf8)))
        default:
            answer.set("ETag", nil)
            answer.set("Last-Modified", nil)
        }
    }

    private static func lieAboutTime(_ answer: inout ScriptedAnswer, _ random: inout SeededGenerator) {
        switch random.next(5) {
        case 0: answer.before.append(.pause(.milliseconds(random.next(20))))
        case 1:
            for _ in 0..<3 { answer.insert(.pause(.milliseconds(random.next(8))), at: place(in: answer, &random)) }
        case 2:
            if random.next(20) == 0 { answer.insert(.hold(Gate()), at: place(in: answer, &random)) }
        case 3:
            // A date within its own second can be recognized only by the other date.
            guard answer.value("Last-Modified") != now else { return }
            let dates = [nil, "Sun, 06 Nov 1994 00:00:00 GMT", "x", "Thu, 01 Jan 1970 00:00:00 GMT"]
            answer.set("Date", dates[random.next(dates.count)])
        default:
            let ages = ["max-age=0", "no-store", "immutable", "max-age=-1"]
            answer.set("Cache-Control", ages[random.next(ages.count)])
        }
    }

    private static func garbage(_ most: Int, _ random: inout SeededGenerator) -> [UInt8] {
        [UInt8](repeating: 1, count: 1 + random.next(most))
    }

    private static func place(in answer: ScriptedAnswer, _ random: inout SeededGenerator) -> Int64 {
        Int64(random.next(Int(answer.body.reduce(0) { $0 + $1.length }) + 1))
    }

    /// Sends chunks with extensions, and with sizes in capitals and with zeros, and this end in place of the last one.
    private static func sendOwnChunks(
        _ answer: inout ScriptedAnswer, end: String, _ random: inout SeededGenerator
    ) {
        answer.sendInChunks()
        answer.isChunked = false
        var body: [ScriptedStep] = []
        for step in answer.body where step.length > 0 {
            let size = "000" + String(step.length, radix: 16, uppercase: true) + ["", ";a=b", " ;c"][random.next(3)]
            body += [.bytes(Array("\(size)\r\n".utf8)), step, .bytes(Array("\r\n".utf8))]
        }
        answer.body = body + [.bytes(Array(end.utf8))]
    }
}

extension ScriptedAnswer {
    fileprivate func value(_ name: String) -> String? { fields.first { $0.name.isEqualIgnoringCase(name) }?.value }

    fileprivate func states(_ name: String) -> Bool { value(name) != nil }

    /// The range that the head names.
    fileprivate var range: ByteRange? {
        guard let text = value("Content-Range"), case .bytes(let range, _) = ContentRange(text) else { return nil }
        return range
    }

    /// Sends another part of the media, with the head for it.
    fileprivate mutating func give(_ range: ByteRange, of media: PseudoRandomMedia) {
        set("Content-Range", ContentRange.bytes(range, total: media.length).description)
        if states("Content-Length") { set("Content-Length", "\(range.length)") }
        body = [.media(media, range)]
    }
}
