import MediaVault
import Testing
import VaultModel

@testable import VaultService

@Suite("Answer plan")
struct AnswerPlanTests {
    private static let tag = EntityTag(strong: "v1")

    private func facts(
        length: Int64? = 1000, range: ByteRange?, type: String? = "video/mp4", lastModified: String? = nil,
        isWholeAnswer: Bool = false, cacheStatus: CacheStatus = .hit, tag: EntityTag = tag
    ) -> MediaFacts {
        MediaFacts(
            information: ContentInformation(
                length: length, type: type, validators: Validators(lastModified: lastModified), supportsRanges: true),
            entityTag: tag, lastModified: lastModified.flatMap { HTTPDate($0, now: 1_800_000_000) }, range: range,
            isWholeAnswer: isWholeAnswer, cacheStatus: cacheStatus)
    }

    @Test(
        "A range is answered 206 with exactly its bytes",
        arguments: [
            (0..<1000, "bytes 0-999/1000", "1000"), (0..<101, "bytes 0-100/1000", "101"),
            (999..<1000, "bytes 999-999/1000", "1"),
        ] as [(ByteRange, String, String)])
    func partial(range: ByteRange, contentRange: String, length: String) {
        let plan = AnswerPlan(facts(range: range), isRanged: true)
        #expect(plan.status == 206)
        #expect(plan.fields["Content-Range"] == contentRange)
        #expect(plan.fields["Content-Length"] == length)
        #expect(plan.length == range.length)
    }

    @Test("If the length is unknown, Content-Range ends with an asterisk")
    func unknownTotal() {
        let plan = AnswerPlan(facts(length: nil, range: 5..<10), isRanged: true)
        #expect(plan.status == 206)
        #expect(plan.fields["Content-Range"] == "bytes 5-9/*")
    }

    @Test("A strong tag is the ETag of every answer; a weak one, which players would use for ranges, of none")
    func entityTag() throws {
        for (tag, shown) in [(Self.tag, Self.tag.description), (try #require(EntityTag(#"W/"v1""#)), nil)] {
            let facts = facts(range: 0..<400, tag: tag)
            let plans = [
                AnswerPlan(facts, isRanged: true), AnswerPlan(facts, isRanged: false), AnswerPlan(notModified: facts),
            ]
            #expect(plans.map(\.status) == [206, 200, 304])
            #expect(plans.allSatisfy { $0.fields["ETag"] == shown })
        }
    }

    @Test("Without a range the answer is 200 with the full length, whatever is held")
    func whole() {
        let plan = AnswerPlan(facts(range: 0..<400), isRanged: false)
        #expect(plan.status == 200)
        #expect(plan.fields["Content-Range"] == nil)
        #expect(plan.length == 1000)
    }

    @Test("If the origin does not support ranges, the answer is 200, whole, with Accept-Ranges: none")
    func noRanges() {
        let plan = AnswerPlan(facts(range: 0..<1000, isWholeAnswer: true), isRanged: true)
        #expect(plan.status == 200)
        #expect(plan.length == 1000)
        #expect(plan.fields["Accept-Ranges"] == "none")
    }

    @Test("If the length is unknown, the answer is 200 without Content-Length")
    func unknownLength() {
        let plan = AnswerPlan(facts(length: nil, range: nil, isWholeAnswer: true), isRanged: true)
        #expect(plan.status == 200)
        #expect(plan.length == nil)
        #expect(plan.fields["Content-Length"] == nil)
    }

    @Test("An empty range is never printed")
    func emptyRange() {
        #expect(AnswerPlan(facts(length: 0, range: 0..<0), isRanged: true).status == 200)
        #expect(AnswerPlan(facts(length: 0, range: 0..<0), isRanged: false).fields["Content-Length"] == "0")
    }

    @Test("Every media answer carries the protective fields and the tag", arguments: [true, false])
    func fields(isRanged: Bool) {
        let date = "Sat, 21 Nov 2026 12:00:00 GMT"
        let fields = AnswerPlan(facts(range: 0..<10, lastModified: date), isRanged: isRanged).fields
        let expected = [
            "ETag": "\"v1\"", "Accept-Ranges": "bytes", "Content-Type": "video/mp4", "Last-Modified": date,
            "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
            "Cross-Origin-Resource-Policy": "same-origin",
        ]
        for (name, value) in expected { #expect(fields.values(name) == [value], "\(name)") }
    }

    @Test(
        "A type that a browser could show as a page is sandboxed; a media type is not",
        arguments: [
            ("video/mp4", false), ("Audio/MPEG", false), ("text/html", true), ("image/svg+xml", true),
            ("application/octet-stream", true), ("video/mp4, text/html", true), ("image/jpeg", false),
            ("video/mp4;codecs=\"x, y\"", false), ("video/x-page", true), ("application/vnd.apple.mpegurl", true),
        ])
    func pages(type: String, isSandboxed: Bool) {
        let plan = AnswerPlan(facts(range: 0..<10, type: type), isRanged: true)
        #expect(plan.fields.values("Content-Security-Policy") == (isSandboxed ? ["sandbox"] : []))
    }

    @Test(
        "Cache-Status names where the bytes come from",
        arguments: [
            (CacheStatus.hit, "MediaVault; hit"), (.miss, "MediaVault; fwd=miss; stored"),
            (.partial, "MediaVault; fwd=partial; stored"),
            (.bypass(.capacity), "MediaVault; fwd=bypass; detail=room"),
            (.bypass(.diskFull), "MediaVault; fwd=bypass; detail=disk-full"),
            (.bypass(.store), "MediaVault; fwd=bypass; detail=store"),
            (.confirmed(originStatus: 304), "MediaVault; fwd=stale; fwd-status=304"),
            (.stale(.unreachable), "MediaVault; fwd=stale; detail=unreachable"),
            (.stale(.refused, originStatus: 503), "MediaVault; fwd=stale; fwd-status=503; detail=refused"),
            (.stale(.preferVault), "MediaVault; hit; detail=stale"),
            (.failed(.refused, originStatus: 404), "MediaVault; fwd=miss; fwd-status=404"),
            (.failed(.unreachable, originStatus: nil), "MediaVault; fwd=miss; detail=unreachable"),
            (.failed(.notHeld, originStatus: nil), "MediaVault; detail=not-held"),
        ])
    func cacheStatus(status: CacheStatus, text: String) {
        #expect(AnswerPlan(facts(range: 0..<10, cacheStatus: status), isRanged: true).fields["Cache-Status"] == text)
    }

    @Test(
        "The source of the bytes and the origin's answer determine Cache-Status (RFC 9211 §2)",
        arguments: [
            (.held, nil, nil, nil, .hit), (.held, nil, nil, 304, .confirmed(originStatus: 304)),
            (.held, nil, nil, 200, .confirmed(originStatus: 200)),
            (.held, nil, .refused, 503, .stale(.refused, originStatus: 503)),
            (.held, nil, .unreachable, nil, .stale(.unreachable)), (.held, nil, .offline, nil, .stale(.offline)),
            // Bytes were fetched, so the kind of fetch decides.
            (.partial, nil, nil, 304, .partial), (.fetched, nil, nil, nil, .miss),
            (.partial, .capacity, nil, 304, .bypass(.capacity)), (.partial, nil, .offline, nil, .partial),
            (.partial, nil, .slow, nil, .stale(.slow)),
        ] as [(MediaReader.Source, BypassReason?, Staleness?, Int?, CacheStatus)])
    func cacheStatus(
        source: MediaReader.Source, bypass: BypassReason?, staleness: Staleness?, originStatus: Int?,
        expected: CacheStatus
    ) {
        #expect(CacheStatus(source, bypass, staleness, originStatus: originStatus) == expected)
    }

    @Test("A resource of unknown type is sent as application/octet-stream")
    func unknownType() {
        #expect(
            AnswerPlan(facts(range: nil, type: nil), isRanged: false).fields["Content-Type"]
                == "application/octet-stream")
    }

    @Test(
        "A type that is not a valid field value counts as unknown",
        arguments: ["a\rb", "\u{7F}", "a\u{0}", "é"])
    func hostileType(type: String) {
        #expect(
            AnswerPlan(facts(range: nil, type: type), isRanged: false).fields["Content-Type"]
                == "application/octet-stream")
    }

    @Test(
        "A date is printed in the preferred form, and omitted if the origin sent none (RFC 9110 §5.6.7)",
        arguments: [
            ("Sunday, 06-Nov-94 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 GMT"),
            ("Sun Nov  6 08:49:37 1994", "Sun, 06 Nov 1994 08:49:37 GMT"), ("yesterday", nil), ("", nil),
        ])
    func lastModified(said: String, told: String?) {
        let plan = AnswerPlan(facts(range: nil, lastModified: said), isRanged: false)
        #expect(plan.fields["Last-Modified"] == told)
    }

    @Test("A multipart answer has its own type and no Content-Range (RFC 9110 §15.3.7.2)")
    func parts() {
        let multipart = Multipart(boundary: "b0", type: "video/mp4", total: 1000, parts: [0..<1, 5..<9])
        let plan = AnswerPlan(facts(range: 0..<1), multipart)
        #expect(plan.status == 206)
        #expect(plan.fields["Content-Type"] == "multipart/byteranges; boundary=b0")
        #expect(plan.fields["Content-Range"] == nil)
        #expect(plan.fields["Content-Length"] == String(multipart.length) && plan.length == multipart.length)
    }

    @Test("A 304 does not describe the representation again (RFC 9110 §15.4.5)")
    func notModified() {
        let plan = AnswerPlan(notModified: facts(range: nil, lastModified: "Sun, 06 Nov 1994 08:49:37 GMT"))
        #expect(plan.status == 304)
        #expect(plan.fields["ETag"] == "\"v1\"" && plan.fields["Cache-Control"] == "no-store")
        for name in ["Content-Length", "Content-Type", "Content-Range"] { #expect(plan.fields[name] == nil) }
    }
}
