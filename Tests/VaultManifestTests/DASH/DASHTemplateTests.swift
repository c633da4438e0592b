import Testing
import VaultModel

@testable import VaultManifest

@Suite("DASH templates and times")
struct DASHTemplateTests {
    @Test(
        "A template is filled as players fill it",
        arguments: [
            ("a.mp4", "a.mp4"), ("", ""),
            ("$RepresentationID$/$Number$.m4s", "v/1/7.m4s"),
            ("$Number%05d$-$Number%01d$-$Number%00d$", "00007-7-7"),
            ("$Time%012d$-$Bandwidth%08d$-$SubNumber%02d$", "000000090000-00128000-03"),
            ("cost$$$Number$$$", "cost$7$"),
            ("$$Number$$", "$Number$"),
            ("$Unknown$-$number$-$Number%5d$-$Number%05x$", "$Unknown$-$number$-$Number%5d$-$Number%05x$"),
            ("$Number%05d%03d$", "$Number%05d%03d$"),
            ("a$Number", "a$Number"), ("$", "$"), ("$$$", "$$"),
        ])
    func filling(text: String, expected: String) {
        let values = DASHTemplate.Values(id: "v/1", bandwidth: "128000", number: 7, time: 90000, part: 3)
        #expect(DASHTemplate(text).filled(values) == expected)
        #expect(DASHTemplate(DASHTemplate.escaping(expected)).filled(DASHTemplate.Values()) == expected)
    }

    @Test(
        "The folder of a template is its fixed text up to a slash of the path",
        arguments: [
            ("a/b/c-$Number$.m4s", "a/b/"), ("$Number$/a", ""), ("a$Number$/b", ""), ("/r/$Time$", "/r/"),
            ("https://c.example/x$$y/$Number$", "https://c.example/"),
            ("https://c.example/a?p=/$Number$", "https://c.example/"),
            ("../a/$RepresentationID$/b", "../a/"),
        ])
    func folder(text: String, folder: String) { #expect(DASHTemplate(text).folder == folder) }

    @Test(
        "A duration is read in nanoseconds",
        arguments: [
            ("PT0S", 0), ("PT1H2M3.5S", 3_723_500_000_000), ("PT0.5M", nil), ("PT.25S", 250_000_000),
            ("P1DT1S", 86_401_000_000_000), ("P1Y2M3D", (365 + 60 + 3) * 86_400_000_000_000),
            (" PT2S ", 2_000_000_000), ("PT1.1234567891S", 1_123_456_789), ("PT60M", 3_600_000_000_000),
            ("", nil), ("P", nil), ("PT", nil), ("P1DT", nil), ("PT1", nil), ("PTS", nil), ("P1S", nil), ("PT1D", nil),
            ("PT1S1M", nil), ("PT1S1S", nil), ("-PT1S", nil), ("PT-1S", nil), ("1S", nil), ("PT1ST1S", nil),
            ("PT\(String(repeating: "9", count: 400))S", nil), ("P11Y", nil), ("PT99999999999S", nil),
            ("PT9223372036854775807H", nil),
        ] as [(String, Int64?)])
    func duration(text: String, nanoseconds: Int64?) { #expect(DASHTime.nanoseconds(text) == nanoseconds) }

    @Test(
        "A timeline is a list of runs",
        arguments: [
            (#"<S t="5" d="2"/><S d="3" r="1"/>"#, [(1, 5, 2, 1), (2, 7, 3, 2)]),
            (#"<S d="2" r="-1"/><S t="7" d="1"/>"#, [(1, 0, 2, 4), (5, 7, 1, 1)]),
            (#"<S t="30" d="4" r="-1"/>"#, [(1, 30, 4, 3)]),
            (#"<S t="90" d="4" r="-1"/>"#, [(1, 90, 4, 1)]),
            (#"<S d="2" r="-1"/><S d="1"/>"#, [(1, 0, 2, 1), (2, 2, 1, 1)]),
            (#"<S t="1"/><S d="x"/><S d="2" n="9"/>"#, [(9, 0, 2, 1)]),
            (#"<S d="0" r="-1"/><S d="0" r="2"/>"#, [(1, 0, 0, 1), (2, 0, 0, 3)]),
            (
                #"<S d="9223372036854775807" r="9223372036854775807"/><S d="1"/>"#,
                [(1, 0, .max, .max), (.max, .max, 1, 1)]
            ),
            (#"<S d="2" r="99999999999999999999"/>"#, [(1, 0, 2, 1)]),
        ] as [(String, [(Int64, Int64, Int64, Int64)])])
    func timeline(entries: String, expected: [(Int64, Int64, Int64, Int64)]) throws {
        // Ten seconds in units of a quarter, at an offset of half a second.
        let text =
            #"<SegmentTemplate timescale="4" presentationTimeOffset="2"><SegmentTimeline>"# + entries
            + "</SegmentTimeline></SegmentTemplate>"
        let root = try MarkupReader.read(Array("<Period>\(text)</Period>".utf8), limits: .standard)
        let runs = DASHSegments([DASHLevel(root)]).runs(periodLength: 10_000_000_000)
        #expect(runs == expected.map { SegmentRun(number: $0.0, time: $0.1, duration: $0.2, count: $0.3) })
    }
}
