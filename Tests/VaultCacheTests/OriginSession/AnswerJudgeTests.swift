import Testing
import VaultFetch
import VaultModel

@testable import VaultCache

private let date = "Sun, 06 Nov 1994 08:49:37 GMT"
private let later = "Mon, 07 Nov 1994 08:49:37 GMT"
private let page = Array("<!DOCTYPE html><title>Please log in</title>".utf8)
private let media = [UInt8](repeating: 7, count: 64)

/// What is known: a film of 1000 bytes with these validators, of which bytes are held.
private func known(
    tag: String? = "\"v1\"", date: String? = date, length: Int64? = 1000, type: String? = "video/mp4",
    hasBytes: Bool = true,
    isManifest: Bool = false, supportsRanges: Bool = true, unsettled: String? = nil
) -> AnswerJudge.Known {
    let validators = Validators(entityTag: tag.flatMap { EntityTag($0) }, lastModified: date)
    return AnswerJudge.Known(
        information: ContentInformation(
            length: length, type: type, validators: validators, supportsRanges: supportsRanges),
        unsettledDate: unsettled, hasBytes: hasBytes, isManifest: isManifest)
}

/// What a request asks for: the first 100 bytes, unless said otherwise.
struct JudgedRequest: Sendable {
    var first: Int64? = 0
    var end: Int64? = 100
    var ifRange: String?
    var ifChangedFrom: Validators?
    var method = OriginRequest.Method.get
}

private func asked(
    _ first: Int64? = 0, _ end: Int64? = 100, ifRange: String? = nil, ifChangedFrom: Validators? = nil,
    method: OriginRequest.Method = .get
) -> JudgedRequest {
    JudgedRequest(first: first, end: end, ifRange: ifRange, ifChangedFrom: ifChangedFrom, method: method)
}

/// One answer, and the verdict on it.
struct JudgedAnswer: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let verdict: AnswerJudge.Verdict
    let status: Int
    let fields: KeyValuePairs<String, String>
    let known: AnswerJudge.Known?
    let asked: JudgedRequest
    let evidence: AnswerJudge.Evidence
    let prefersRange: Bool
    let isOther: Bool

    fileprivate init(
        _ text: String, _ status: Int, _ fields: KeyValuePairs<String, String>, _ verdict: AnswerJudge.Verdict,
        known: AnswerJudge.Known?, asked: JudgedRequest = JudgedRequest(), beginning: [UInt8]? = nil,
        isUsable: Bool? = nil, varies: Bool? = nil, prefersRange: Bool = false, isOther: Bool = false
    ) {
        (testDescription, self.status, self.fields, self.verdict) = (text, status, fields, verdict)
        (self.known, self.asked, self.prefersRange, self.isOther) = (known, asked, prefersRange, isOther)
        evidence = AnswerJudge.Evidence(beginning: beginning, isUsableManifest: isUsable, variesByNode: varies)
    }

    fileprivate init(
        _ text: String, _ status: Int, _ fields: KeyValuePairs<String, String>, _ verdict: AnswerJudge.Verdict,
        asked: JudgedRequest = JudgedRequest(), beginning: [UInt8]? = nil, isUsable: Bool? = nil,
        varies: Bool? = nil, prefersRange: Bool = false, isOther: Bool = false
    ) {
        self.init(
            text, status, fields, verdict, known: VaultCacheTests.known(), asked: asked, beginning: beginning,
            isUsable: isUsable, varies: varies, prefersRange: prefersRange, isOther: isOther)
    }
}

/// Whose an answer is: one table for all places that ask.
@Suite("Judging an origin's answer")
struct AnswerJudgeTests {
    private static func same(_ content: ResponseContent) -> AnswerJudge.Verdict { .decided(.same(content)) }

    private static func other(_ content: ResponseContent, byTagAlone: Bool = false) -> AnswerJudge.Verdict {
        .decided(.other(content, byTagAlone: byTagAlone))
    }

    private static let part = ResponseContent.partial(0..<100, total: 1000)
    private static let whole = ResponseContent.whole(length: 1000)
    private static let validators = known().information.validators

    // MARK: A part

    private static let parts = [
        JudgedAnswer("nothing is known", 206, ["Content-Range": "bytes 0-99/1000"], other(part), known: nil),
        JudgedAnswer("the tag agrees", 206, ["ETag": "\"v1\"", "Content-Range": "bytes 0-99/1000"], same(part)),
        JudgedAnswer(
            "the tag differs, and so does the date", 206,
            ["ETag": "\"v2\"", "Last-Modified": later, "Content-Range": "bytes 0-99/1000"], other(part)),
        JudgedAnswer(
            "the tag agrees, and the length differs", 206, ["ETag": "\"v1\"", "Content-Range": "bytes 0-99/1001"],
            other(.partial(0..<100, total: 1001))),
        JudgedAnswer(
            "the tag agrees, and the length is not stated", 206, ["ETag": "\"v1\"", "Content-Range": "bytes 0-99/*"],
            same(.partial(0..<100, total: nil))),
        JudgedAnswer(
            "the tag became weak, and the date agrees", 206,
            ["ETag": "W/\"v1\"", "Last-Modified": date, "Content-Range": "bytes 0-99/1000"], same(part)),
        JudgedAnswer(
            "the tag became weak, and there is no date", 206,
            ["ETag": "W/\"v1\"", "Content-Range": "bytes 0-99/1000"], other(part)),
        JudgedAnswer(
            "the tag vanished, and the date agrees", 206,
            ["Last-Modified": date, "Content-Range": "bytes 0-99/1000"], same(part)),
        JudgedAnswer(
            "the tag vanished, and the date differs", 206,
            ["Last-Modified": later, "Content-Range": "bytes 0-99/1000"], other(part)),
        JudgedAnswer("both validators vanished", 206, ["Content-Range": "bytes 0-99/1000"], other(part)),
        JudgedAnswer(
            "it lies past the known end", 206, ["ETag": "\"v1\"", "Content-Range": "bytes 990-1009/*"],
            other(.partial(990..<1010, total: nil)), asked: asked(990, nil)),
        JudgedAnswer(
            "a date in If-Range may be left out", 206, ["Content-Range": "bytes 0-99/1000"], same(part),
            known: known(tag: nil), asked: asked(ifRange: date)),
        JudgedAnswer(
            "without If-Range a date may not be left out", 206, ["Content-Range": "bytes 0-99/1000"], other(part),
            known: known(tag: nil)),
        JudgedAnswer(
            "a tag in If-Range may not be left out", 206, ["Content-Range": "bytes 0-99/1000"], other(part),
            asked: asked(ifRange: "\"v1\"")),
        JudgedAnswer(
            "neither side has a validator", 206, ["Content-Range": "bytes 0-99/1000"], same(part),
            known: known(tag: nil, date: nil)),
        JudgedAnswer(
            "neither side has a validator, and the length differs", 206, ["Content-Range": "bytes 0-99/999"],
            other(.partial(0..<100, total: 999)), known: known(tag: nil, date: nil)),
        JudgedAnswer(
            "a date that did not count by now does", 206,
            ["Last-Modified": date, "Date": later, "Content-Range": "bytes 0-99/1000"], same(part),
            known: known(tag: nil, date: nil, unsettled: date)),
        JudgedAnswer(
            "a date that did not count is another by now", 206,
            ["Last-Modified": "Sun, 06 Nov 1994 08:49:38 GMT", "Date": later, "Content-Range": "bytes 0-99/1000"],
            other(part), known: known(tag: nil, date: nil, unsettled: date)),
        JudgedAnswer(
            "a date that did not count by now does, and a tag has come", 206,
            ["ETag": "\"a\"", "Last-Modified": date, "Date": later, "Content-Range": "bytes 0-99/1000"], other(part),
            known: known(tag: nil, date: nil, unsettled: date)),
        JudgedAnswer(
            "a date that did not count by now does, and the weak tag differs", 206,
            ["ETag": "W/\"b\"", "Last-Modified": date, "Date": later, "Content-Range": "bytes 0-99/1000"], other(part),
            known: known(tag: "W/\"a\"", date: nil, unsettled: date)),
        JudgedAnswer(
            "a later date after a date in If-Range", 206, ["Last-Modified": later, "Content-Range": "bytes 0-99/1000"],
            other(part), known: known(tag: nil), asked: asked(ifRange: date)),
        JudgedAnswer(
            "If-Range was a date, and a tag is known", 206, ["Content-Range": "bytes 0-99/1000"], other(part),
            asked: asked(ifRange: date)),
        JudgedAnswer(
            "If-Range was another date", 206, ["Content-Range": "bytes 0-99/1000"], other(part),
            known: known(tag: nil), asked: asked(ifRange: later)),
        JudgedAnswer(
            "a date that did not count by now does, and the weak tag agrees", 206,
            ["ETag": "W/\"a\"", "Last-Modified": date, "Date": later, "Content-Range": "bytes 0-99/1000"], same(part),
            known: known(tag: "W/\"a\"", date: nil, unsettled: date)),
        JudgedAnswer(
            "only a weak tag was known", 206, ["Content-Range": "bytes 0-99/1000"], same(part),
            known: known(tag: "W/\"a\"", date: nil)),
    ]

    @Test("A part belongs to what is held if validators and length agree", arguments: parts)
    func judgeParts(_ row: JudgedAnswer) throws { try check(row) }

    // MARK: The whole in place of a part

    private static let wholes = [
        JudgedAnswer(
            "the origin has no ranges", 200, ["ETag": "\"v1\"", "Content-Length": "1000"], same(whole),
            asked: asked(500, 600, ifRange: "\"v1\"")),
        JudgedAnswer(
            "it has changed", 200, ["ETag": "\"v2\"", "Last-Modified": later, "Content-Length": "1000"], other(whole),
            asked: asked(500, 600, ifRange: "\"v1\""), beginning: media),
        JudgedAnswer(
            "it has another length", 200, ["ETag": "\"v1\"", "Content-Length": "999"], other(.whole(length: 999)),
            asked: asked(500, 600, ifRange: "\"v1\""), beginning: media),
        JudgedAnswer(
            "it has changed, and its range is wanted", 200,
            ["ETag": "\"v2\"", "Last-Modified": later, "Content-Length": "1000"],
            .decided(.askAgain(isUnconditional: true)), asked: asked(500, 600, ifRange: "\"v1\""), beginning: media,
            prefersRange: true),
        JudgedAnswer(
            "it has changed, its range is wanted, and the origin has no ranges", 200,
            ["ETag": "\"v2\"", "Last-Modified": later, "Content-Length": "1000"], other(whole),
            known: known(supportsRanges: false), asked: asked(500, 600, ifRange: "\"v1\""), beginning: media,
            prefersRange: true),
        JudgedAnswer(
            "it has changed, and the request had no condition", 200,
            ["ETag": "\"v2\"", "Last-Modified": later, "Content-Length": "1000"], other(whole), asked: asked(500, 600),
            beginning: media, prefersRange: true),
        JudgedAnswer(
            "it leaves out the date of If-Range", 200, ["Content-Length": "1000"], other(whole),
            known: known(tag: nil), asked: asked(ifRange: date), beginning: media),
        JudgedAnswer(
            "a part of what has changed is taken, also if its range is wanted", 206,
            ["ETag": "\"v2\"", "Last-Modified": later, "Content-Range": "bytes 500-599/1000"],
            other(.partial(500..<600, total: 1000)), asked: asked(500, 600, ifRange: "\"v1\""), prefersRange: true),
    ]

    @Test("The whole in place of a part has changed, or the origin has no ranges", arguments: wholes)
    func judgeWholes(_ row: JudgedAnswer) throws { try check(row) }

    // MARK: Nodes

    private static let sameButTag: KeyValuePairs = [
        "ETag": "\"v2\"", "Last-Modified": date, "Content-Range": "bytes 0-99/1000",
    ]
    private static let conditional = asked(ifRange: "\"v1\"")

    private static func contradicted(_ tag: String) -> AnswerJudge.Known {
        var known = known()
        known.tags.note(Validators(entityTag: EntityTag(tag), lastModified: date), length: 1000)
        return known
    }

    private static let nodes = [
        JudgedAnswer("nothing shows yet", 206, sameButTag, .needs(.anotherAnswer), asked: conditional),
        JudgedAnswer(
            "the origin sends another tag each time", 206, sameButTag, .tagsIdentifyNodes(asksAgain: false),
            asked: conditional, varies: true),
        JudgedAnswer(
            "the origin repeats the tag", 206, sameButTag, other(part, byTagAlone: true), asked: conditional,
            varies: false),
        JudgedAnswer(
            "the tag was there before", 206, sameButTag, .tagsIdentifyNodes(asksAgain: false),
            known: contradicted("\"v2\""), asked: conditional),
        JudgedAnswer(
            "the tag of the whole was there before", 200,
            ["ETag": "\"v2\"", "Last-Modified": date, "Content-Length": "1000"], .tagsIdentifyNodes(asksAgain: true),
            known: contradicted("\"v2\""), asked: conditional, beginning: media),
        JudgedAnswer("the range was requested of whatever there is", 206, sameButTag, other(part)),
        JudgedAnswer(
            "the date differs, too", 206,
            ["ETag": "\"v2\"", "Last-Modified": later, "Content-Range": "bytes 0-99/1000"], other(part),
            asked: conditional),
        JudgedAnswer(
            "the length differs, too", 206,
            ["ETag": "\"v2\"", "Last-Modified": date, "Content-Range": "bytes 0-99/999"],
            other(.partial(0..<100, total: 999)), asked: conditional),
        JudgedAnswer(
            "the node's tag is weak, so it sends the whole", 200,
            ["ETag": "W/\"v1\"", "Last-Modified": date, "Content-Length": "1000"], .tagsIdentifyNodes(asksAgain: true),
            asked: conditional),
        JudgedAnswer(
            "the tag is weak, and the request had a date", 200,
            ["ETag": "W/\"v1\"", "Last-Modified": date, "Content-Length": "1000"], same(whole),
            asked: asked(ifRange: date)),
        JudgedAnswer(
            "a revalidation brings another tag", 206, sameButTag, .needs(.anotherAnswer),
            asked: asked(0, 100, ifChangedFrom: validators)),
        JudgedAnswer(
            "the origin repeats the tag of the whole, and the range is wanted", 200,
            ["ETag": "\"v2\"", "Last-Modified": date, "Content-Length": "1000"],
            .decided(.askAgain(isUnconditional: true, byTagAlone: true)), asked: asked(500, 600, ifRange: "\"v1\""),
            beginning: media, varies: false, prefersRange: true),
        JudgedAnswer(
            "the tag of the whole was there before, and the request had no range", 200,
            ["ETag": "\"v2\"", "Last-Modified": date, "Content-Length": "1000"], .tagsIdentifyNodes(asksAgain: false),
            known: contradicted("\"v2\""), asked: asked(nil, nil, ifChangedFrom: validators), beginning: media),
        JudgedAnswer(
            "the request had neither a range nor a condition", 200,
            ["ETag": "\"v2\"", "Last-Modified": date, "Content-Length": "1000"], .needs(.anotherAnswer),
            asked: asked(nil, nil), beginning: media),
        JudgedAnswer(
            "the known tag is weak, so a range was never conditional", 206,
            ["ETag": "W/\"b\"", "Content-Range": "bytes 0-99/1000"], .needs(.anotherAnswer),
            known: known(tag: "W/\"a\"", date: nil)),
        JudgedAnswer(
            "the length is not stated", 206,
            ["ETag": "\"v2\"", "Last-Modified": date, "Content-Range": "bytes 0-99/*"], .needs(.anotherAnswer),
            asked: conditional),
        JudgedAnswer(
            "no tag was known", 206, ["ETag": "\"v2\"", "Content-Range": "bytes 0-99/1000"], other(part),
            known: known(tag: nil, date: nil), asked: conditional),
        JudgedAnswer(
            "the tag is gone", 206, ["Content-Range": "bytes 0-99/1000"], other(part), known: known(date: nil),
            asked: conditional),
        JudgedAnswer(
            "a 416 is of no node", 416, ["ETag": "\"v2\"", "Last-Modified": date, "Content-Range": "bytes */1000"],
            other(.unsatisfiable(total: 1000)), asked: asked(1000, nil, ifRange: "\"v1\""), isOther: true),
    ]

    @Test("Another tag alone may come from another node of the same origin", arguments: nodes)
    func judgeNodes(_ row: JudgedAnswer) throws { try check(row) }

    // MARK: Pages and documents

    private static let inPlace = AnswerJudge.Verdict.decided(
        .refuse(OriginFailure(.invalidResponse, "it sent a web page or a document in place of media")))
    private static let hidden = AnswerJudge.Verdict.decided(
        .refuse(OriginFailure(.invalidResponse, "it sent a web page or an error in place of media")))
    private static let portal: KeyValuePairs = ["Content-Type": "text/html; charset=utf-8", "Content-Length": "4000"]
    private static let unlabelled: KeyValuePairs = ["Content-Type": "video/mp4", "Content-Length": "4000"]

    private static let pages = [
        JudgedAnswer("a page in place of a film", 200, portal, inPlace),
        JudgedAnswer(
            "a page in place of a film, where nothing is held", 200, portal, other(.whole(length: 4000)),
            known: known(hasBytes: false)),
        JudgedAnswer(
            "a page in place of a page", 200, portal, other(.whole(length: 4000)), known: known(type: "text/html")),
        JudgedAnswer(
            "a page of unknown length, where no validator proves anything", 200, ["Content-Type": "text/html"], inPlace,
            known: known(tag: nil, date: nil)),
        JudgedAnswer(
            "a page to HEAD, which GET decides on", 200, portal, other(.whole(length: 4000)),
            asked: asked(nil, nil, method: .head)),
        JudgedAnswer(
            "a type of page on what has the same tag", 206,
            ["ETag": "\"v1\"", "Content-Type": "text/html", "Content-Range": "bytes 0-99/1000"], same(part)),
        JudgedAnswer(
            "a document in place of a film", 200, ["Content-Type": "application/json", "Content-Length": "9"], inPlace),
        JudgedAnswer(
            "a document in place of what is no media", 200,
            ["Content-Type": "application/json", "Content-Length": "9"],
            other(.whole(length: 9)), known: known(type: "application/pdf"), beginning: media),
        JudgedAnswer("other bytes, of which none are seen yet", 200, unlabelled, .needs(.beginning)),
        JudgedAnswer("a page under the type of a film", 200, unlabelled, hidden, beginning: page),
        JudgedAnswer("another film", 200, unlabelled, other(.whole(length: 4000)), beginning: media),
        JudgedAnswer(
            "another film, where nothing is held", 200, unlabelled, other(.whole(length: 4000)),
            known: known(hasBytes: false)),
        JudgedAnswer(
            "bytes in place of a manifest", 200, unlabelled, .needs(.manifest), known: known(isManifest: true),
            beginning: media),
        JudgedAnswer(
            "a manifest that cannot be used in place of one", 200, unlabelled, hidden, known: known(isManifest: true),
            beginning: media, isUsable: false),
        JudgedAnswer(
            "another manifest", 200, unlabelled, other(.whole(length: 4000)), known: known(isManifest: true),
            beginning: media, isUsable: true),
        JudgedAnswer(
            "a part of a page", 206,
            ["Content-Type": "text/html", "Last-Modified": later, "Content-Range": "bytes 0-99/1000"], inPlace),
        JudgedAnswer(
            "the page that comes with a 416", 416, ["Content-Type": "text/html", "Content-Range": "bytes */500"],
            other(.unsatisfiable(total: 500)), asked: asked(500, nil)),
        JudgedAnswer(
            "a page with the known length and date, and another tag", 200,
            ["Content-Type": "text/html", "ETag": "\"v2\"", "Last-Modified": date, "Content-Length": "1000"], inPlace,
            asked: asked(ifRange: "\"v1\"")),
        JudgedAnswer(
            "bytes with the known length and date, and another tag", 200,
            ["ETag": "\"v2\"", "Last-Modified": date, "Content-Length": "1000"], .needs(.beginning),
            asked: asked(ifRange: "\"v1\"")),
        JudgedAnswer(
            "a page of unknown length, where only a weak tag is known", 200, ["Content-Type": "text/html"], inPlace,
            known: known(tag: "W/\"a\"", date: nil)),
        JudgedAnswer(
            "bytes of unknown length, where no validator proves anything", 200, [:], .needs(.beginning),
            known: known(tag: nil, date: nil)),
        JudgedAnswer(
            "a page without a type, where no validator proves anything", 200, [:], hidden,
            known: known(tag: nil, date: nil), beginning: page),
        JudgedAnswer(
            "media without a type, where no validator proves anything", 200, [:], same(.whole(length: nil)),
            known: known(tag: nil, date: nil), beginning: media),
        JudgedAnswer(
            "a manifest without validators, which may be the same", 200, [:], same(.whole(length: nil)),
            known: known(tag: nil, date: nil, isManifest: true), beginning: media),
    ]

    @Test("A page, a document or an error never replaces media that are held", arguments: pages)
    func judgePages(_ row: JudgedAnswer) throws { try check(row) }

    // MARK: Revalidation

    private static let head = asked(nil, nil, ifChangedFrom: validators, method: .head)
    private static let byte = asked(0, 1, ifChangedFrom: validators)

    private static func invalid(_ text: String) -> AnswerJudge.Verdict {
        .decided(.refuse(OriginFailure(.invalidResponse, text)))
    }

    private static let revalidations = [
        JudgedAnswer("a 304", 304, [:], same(whole), asked: head),
        JudgedAnswer("a 304 with the tag", 304, ["ETag": "\"v1\""], same(whole), asked: byte),
        JudgedAnswer("a 304 with the tag, made weak", 304, ["ETag": "W/\"v1\""], same(whole), asked: byte),
        JudgedAnswer("a 304 to HEAD with another tag", 304, ["ETag": "\"v2\""], other(whole), asked: head),
        JudgedAnswer(
            "a 304 to GET with another tag", 304, ["ETag": "\"v2\""], invalid("HTTP 304 with another entity tag"),
            asked: byte),
        JudgedAnswer(
            "a 304 where the condition was empty", 304, [:],
            invalid("HTTP 304 in response to an unconditional request"), known: known(tag: nil, date: nil),
            asked: asked(nil, nil, ifChangedFrom: Validators(), method: .head)),
        JudgedAnswer("a 304 to a request without a condition", 304, [:], invalid("unexpected status 304")),
        JudgedAnswer(
            "a 304 where the origin has another version", 304, [:], invalid("unexpected status 304"), asked: byte,
            isOther: true),
        JudgedAnswer(
            "a head with the same tag", 200, ["ETag": "\"v1\"", "Content-Length": "1000"], same(whole), asked: head),
        JudgedAnswer(
            "a head with another length", 200, ["ETag": "\"v1\"", "Content-Length": "999"],
            other(.whole(length: 999)), asked: head),
        JudgedAnswer(
            "a head with another tag", 200, ["ETag": "\"v2\"", "Last-Modified": date, "Content-Length": "1000"],
            other(whole), asked: head),
        JudgedAnswer("a head without validators", 200, ["Content-Length": "1000"], other(whole), asked: head),
        JudgedAnswer(
            "a byte with the same tag", 206, ["ETag": "\"v1\"", "Content-Range": "bytes 0-0/1000"],
            same(.partial(0..<1, total: 1000)), asked: byte),
        JudgedAnswer(
            "a byte of another version", 206, ["ETag": "\"v2\"", "Content-Range": "bytes 0-0/70"],
            other(.partial(0..<1, total: 70)), asked: byte),
        JudgedAnswer(
            "a byte with the same tag, where the origin has another version", 206,
            ["ETag": "\"v1\"", "Content-Range": "bytes 0-0/1000"], other(.partial(0..<1, total: 1000)), asked: byte,
            isOther: true),
        JudgedAnswer(
            "a refusal", 404, [:],
            .decided(.refuse(OriginFailure(.refused(status: 404, retryAfter: nil), "HTTP 404"))), asked: head),
        JudgedAnswer(
            "a 304 with a tag, where the condition had none", 304, ["ETag": "\"v9\""], same(whole),
            known: known(tag: nil), asked: asked(0, 1, ifChangedFrom: Validators(lastModified: date))),
        JudgedAnswer(
            "a 304 with the tag of the condition", 304, ["ETag": "\"v1\""], same(whole), known: known(tag: "\"v2\""),
            asked: byte),
        JudgedAnswer(
            "a 304 with the weak tag", 304, ["ETag": "W/\"a\""], same(whole), known: known(tag: "W/\"a\""),
            asked: asked(0, 1, ifChangedFrom: Validators(entityTag: EntityTag("W/\"a\"")))),
    ]

    @Test("A revalidation confirms what is held, or says what else there is", arguments: revalidations)
    func judgeRevalidations(_ row: JudgedAnswer) throws { try check(row) }

    // MARK: Past the end

    private static let ends = [
        JudgedAnswer(
            "at the known length", 416, ["Content-Range": "bytes */1000"], same(.unsatisfiable(total: 1000)),
            asked: asked(1000, nil)),
        JudgedAnswer(
            "at the known length, of which it says nothing", 416, [:], same(.unsatisfiable(total: nil)),
            asked: asked(1000, nil)),
        JudgedAnswer(
            "within the known length", 416, [:], invalid("a range within the length was refused"),
            asked: asked(500, nil)),
        JudgedAnswer(
            "at another length", 416, ["Content-Range": "bytes */500"], other(.unsatisfiable(total: 500)),
            asked: asked(500, nil)),
        JudgedAnswer(
            "where no length is known", 416, [:], same(.unsatisfiable(total: nil)), known: known(length: nil),
            asked: asked(500, nil)),
    ]

    @Test("A 416 belongs to what is held if the range begins past its end", arguments: ends)
    func judgeEnds(_ row: JudgedAnswer) throws { try check(row) }

    private func check(_ row: JudgedAnswer) throws {
        let request = OriginRequest(
            url: try MediaURL("http://origin.test/film.mp4"), method: row.asked.method, first: row.asked.first,
            end: row.asked.end, ifRange: row.asked.ifRange, ifChangedFrom: row.asked.ifChangedFrom)
        let judge = AnswerJudge(
            known: row.known, asked: request, prefersRange: row.prefersRange, isOther: row.isOther)
        let verdict = judge.judge(OriginHead(status: row.status, fields: HeaderFields(row.fields)), row.evidence)
        #expect(verdict == row.verdict)
    }
}
