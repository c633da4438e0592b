import Testing
import VaultModel

@testable import VaultManifest

@Suite("Hostile DASH manifests")
struct DASHHostileTests {
    private static func error(_ text: String, limits: ManifestLimits = .standard) -> ManifestError? {
        do throws(ManifestError) {
            _ = try DASHLab(Array(text.utf8), limits: limits)
            return nil
        } catch {
            return error
        }
    }

    private static func error(period: String, type: String = "static") -> ManifestError? {
        error(#"<MPD type="\#(type)" mediaPresentationDuration="PT1H"><Period>\#(period)</Period></MPD>"#)
    }

    @Test(
        "A page, a feed and a playlist are no MPD",
        arguments: ["<html></html>", "<rss/>", "#EXTM3U\n", "{}", "", "<Period/>"])
    func notAManifest(text: String) { #expect(Self.error(text) == .notAManifest) }

    @Test(
        "An element that is to be fetched from elsewhere is refused",
        arguments: [
            #"<MPD xmlns:xlink="http://www.w3.org/1999/xlink"><Period xlink:href="https://evil.example/p.xml" xlink:actuate="onLoad"/></MPD>"#,
            #"<MPD xmlns:x="http://www.w3.org/1999/xlink"><Period><AdaptationSet x:href="a.xml"/></Period></MPD>"#,
            #"<MPD><Period><AdaptationSet><SegmentList xlink:href="a.xml"/></AdaptationSet></Period></MPD>"#,
            #"<MPD><Period><EventStream xlink:href="a.xml"/></Period></MPD>"#,
            #"<MPD><Period><ImportedMPD uri="a.mpd"/></Period></MPD>"#,
        ])
    func remoteElements(text: String) { #expect(Self.error(text) == .remoteElement) }

    @Test(
        "What may stand once is refused if it stands twice: it would be worked out for every Representation",
        arguments: [
            #"<SegmentTemplate media="a"/><SegmentTemplate media="b"/><Representation id="1"/>"#,
            #"<SegmentList><Initialization sourceURL="a"/><Initialization sourceURL="b"/></SegmentList>"#,
            "<SegmentList/><SegmentList/>",
        ])
    func repeated(set: String) throws {
        guard case .malformed(_, .element) = Self.error(period: "<AdaptationSet>\(set)</AdaptationSet>") else {
            Issue.record("it was accepted")
            return
        }
    }

    @Test("A manifest that names itself names a file, and is not followed")
    func selfReference() throws {
        let lab = try DASHLab(
            period:
                #"<AdaptationSet><Representation id="1"><BaseURL>manifest.mpd</BaseURL></Representation></AdaptationSet>"#
        )
        #expect(lab.references == ["segment - manifest.mpd"])
        #expect(
            try DASHLab(period: #"<BaseURL>./manifest.mpd</BaseURL><AdaptationSet><Representation/></AdaptationSet>"#)
                .references == ["segment - manifest.mpd"])
    }

    @Test(
        "A timeline with too many repeats is refused before it is expanded",
        arguments: ["999999999", "9223372036854775807", "250000"])
    func repeats(count: String) {
        let period =
            #"<AdaptationSet><SegmentTemplate media="$Time$"><SegmentTimeline><S d="1" r="\#(count)"/></SegmentTimeline>"#
            + #"</SegmentTemplate><Representation id="1"/></AdaptationSet>"#
        #expect(Self.error(period: period) == .tooManyReferences(limit: 250_000))
        // A live template is not expanded.
        #expect(Self.error(period: period, type: "dynamic") == nil)
    }

    @Test(
        "Short durations, long ranges of numbers and many parts are refused before they are expanded",
        arguments: [
            #"timescale="9223372036854775807" duration="1""#, #"timescale="1000" duration="1""#,
            #"timescale="4000000000" duration="1" endNumber="9223372036854775807""#,
        ])
    func durations(attributes: String) {
        let period =
            #"<AdaptationSet><SegmentTemplate media="$Number$" \#(attributes)/><Representation/></AdaptationSet>"#
        #expect(Self.error(period: period) == .tooManyReferences(limit: 250_000))
    }

    @Test("Segments in 9223372036854775807 parts are refused")
    func parts() {
        let period =
            #"<AdaptationSet><SegmentTemplate media="$SubNumber$"><SegmentTimeline><S d="1" r="9223372036854775807" k="9223372036854775807"/>"#
            + "</SegmentTimeline></SegmentTemplate><Representation/></AdaptationSet>"
        #expect(Self.error(period: period) == .tooManyReferences(limit: 250_000))
    }

    @Test("As many references as the limit are accepted")
    func limit() throws {
        var limits = ManifestLimits.standard
        limits.maxReferences = 11
        let text: (Int) -> String = {
            #"<MPD><Period><AdaptationSet><SegmentTemplate media="$Time$"><SegmentTimeline><S d="1" r="\#($0)"/></SegmentTimeline>"#
                + #"</SegmentTemplate><Representation/></AdaptationSet></Period></MPD>"#
        }
        #expect(try DASHLab(Array(text(9).utf8), limits: limits).references.count == 10)
        #expect(Self.error(text(10), limits: limits) == .tooManyReferences(limit: 11))
    }

    @Test("Short templates at a long base are refused by the bytes that they would become")
    func urlBytes() {
        let base = String(repeating: "a", count: 4000)
        let period =
            "<BaseURL>\(base)/</BaseURL>"
            + #"<AdaptationSet><SegmentTemplate media="$Number$" duration="1" timescale="30"/><Representation/></AdaptationSet>"#
        #expect(Self.error(period: period) == .tooLarge(limit: ManifestLimits.standard.maxURLBytes))
    }

    @Test("A timeline that many Representations inherit is counted for each")
    func inheritedTimeline() {
        let entries = String(repeating: #"<S t="0"/><S d="1"/>"#, count: 1000)
        let period =
            #"<SegmentTemplate media="$Number$" startNumber="9" endNumber="1"><SegmentTimeline>\#(entries)</SegmentTimeline></SegmentTemplate>"#
            + "<AdaptationSet>" + String(repeating: "<Representation/>", count: 300) + "</AdaptationSet>"
        #expect(Self.error(period: period) == .tooManyReferences(limit: 250_000))
    }

    @Test(
        "A template that asks for too many digits is refused",
        arguments: ["$Number%09999999d$", "$Time%033d$", "$Bandwidth%0\(String(repeating: "9", count: 400))d$"])
    func widths(template: String) {
        #expect(
            Self.error(period: "\n<AdaptationSet>\n<SegmentTemplate media=\"\(template)\"/></AdaptationSet>")
                == .malformed(line: 3, .template))
        #expect(
            Self.error(period: #"<SegmentTemplate initialization="\#(template)"/>"#) == .malformed(line: 1, .template))
    }

    @Test("Numbers of 400 digits count as absent")
    func longNumbers() throws {
        let digits = String(repeating: "9", count: 400)
        let lab = try DASHLab(
            period: """
                <AdaptationSet mimeType="video/mp4"><SegmentTemplate media="$Number$-$Time$" timescale="\(digits)" duration="\(digits)" startNumber="\(digits)"
                endNumber="\(digits)" presentationTimeOffset="\(digits)"/><Representation id="1" bandwidth="\(digits)" width="\(digits)"/></AdaptationSet>
                """)
        #expect(lab.references == ["segment - 1-0"])
        #expect(lab.manifest.renditions.count == 1)
        #expect(lab.manifest.renditions.allSatisfy { $0.bandwidth == nil && $0.width == nil })
    }

    @Test(
        "A range that is none, or overflows, means the whole file",
        arguments: [
            ("0-9", "0-9"), (" 5-5 ", "5-5"), ("9-5", "-"), ("5-", "-"), ("-5", "-"), ("0-9223372036854775807", "-"),
            ("9223372036854775806-9223372036854775806", "9223372036854775806-9223372036854775806"),
            ("1-99999999999999999999", "-"), ("+1-2", "-"), ("1-2-3", "-"), ("", "-"),
        ])
    func ranges(text: String, expected: String) throws {
        let lab = try DASHLab(
            period:
                #"<AdaptationSet><SegmentList><SegmentURL mediaRange="\#(text)"/></SegmentList><Representation/></AdaptationSet>"#
        )
        #expect(lab.references == ["segment \(expected) manifest.mpd"])
    }

    @Test("A template that never changes names one file, however many segments it has")
    func constantTemplate() throws {
        let lab = try DASHLab(
            period:
                #"<AdaptationSet><SegmentTemplate media="one.mp4" timescale="1000000" duration="1"/><Representation/></AdaptationSet>"#
        )
        #expect(lab.references == ["segment - one.mp4"])
    }

    @Test("References to private addresses are led through the vault like all others")
    func privateAddresses() throws {
        for host in ["127.0.0.1", "[::1]", "192.168.1.1", "metadata.internal", "2130706433"] {
            let lab = try DASHLab(
                period:
                    "<AdaptationSet><Representation><BaseURL>http://\(host)/x.mp4</BaseURL></Representation></AdaptationSet>"
            )
            #expect(lab.references == ["segment - http://\(host)/x.mp4"])
            #expect(try lab.rewritten().strays.isEmpty)
        }
    }

    @Test("Tokens in queries are kept in references and in links")
    func tokens() throws {
        let lab = try DASHLab(
            period:
                #"<AdaptationSet><SegmentTemplate duration="4" media="https://c.example/$Number$?t=a%2Fb&amp;e=1"/><Representation/></AdaptationSet>"#
        )
        #expect(lab.references == ["segment - https://c.example/1?t=a%2Fb&e=1"])
        #expect(try lab.rewritten().originals.compactMap { $0?.absoluteString } == ["https://c.example/1?t=a%2Fb&e=1"])
    }

    @Test("A hundred thousand Representations at a long list are refused in bounded time")
    func sharedList() {
        let urls = String(repeating: "<SegmentURL media='../a'/>", count: 50_000)
        let representations = String(repeating: "<Representation/>", count: 50_000)
        #expect(
            Self.error(period: "<SegmentList>\(urls)</SegmentList><AdaptationSet>\(representations)</AdaptationSet>")
                == .tooManyReferences(limit: 250_000))
    }

    @Test("Levels inside each other are read to the limit of depth")
    func nestedLevels() throws {
        let nested =
            String(repeating: "<AdaptationSet>", count: 28)
            + "<Representation id='1'><BaseURL>a</BaseURL></Representation>"
            + String(repeating: "</AdaptationSet>", count: 28)
        #expect(try DASHLab(period: nested).references == ["segment - a"])
        #expect(Self.error(period: String(repeating: "<AdaptationSet>", count: 10_000)) == .tooDeep(limit: 32))
    }
}
