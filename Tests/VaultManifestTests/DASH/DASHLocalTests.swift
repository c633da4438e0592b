import Testing
import VaultModel

@testable import VaultManifest

@Suite("Manifests that name files beside them")
struct DASHLocalTests {
    private static let folder = "https://folder.example/title/"

    /// What a player requests of an MPD that is in a folder, as names.
    private static func names(in bytes: [UInt8]) throws -> [(name: String, role: ManifestReference.Role)] {
        let url = MediaURL(scheme: "https", host: "folder.example", port: nil, path: "/title/manifest.mpd", query: nil)
        return try DASHManifest(bytes, url: url, limits: .standard).references.map { reference in
            let text = reference.url.absoluteString
            #expect(text.hasPrefix(folder), "\(text) is outside the folder")
            return (String(text.dropFirst(folder.count)), reference.role)
        }
    }

    /// Ranges of one file that follow each other count as one.
    private static func once(_ urls: [MediaURL]) -> [MediaURL] {
        urls.reduce(into: []) { if $0.last != $1 { $0.append($1) } }
    }

    private static func isSafe(_ name: String) -> Bool {
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 2 && parts[0].first?.isNumber == true
            && parts[0].allSatisfy { $0.isNumber || $0 == "-" } && parts[1].allSatisfy { $0.isLetter || $0.isNumber }
    }

    @Test(
        "A player of the copy requests the copies of what it would request of the original, in the same order",
        arguments: CorpusFile.all(in: "DASH").filter { !$0.isRefused && $0.name.hasSuffix(".mpd") })
    func corpus(file: CorpusFile) throws {
        let manifest = try DASHLab(file.bytes).manifest
        guard !manifest.isLive else { return }
        var names = LocalNames(of: manifest.references)
        let copied = try Self.names(in: manifest.local(&names))
        let sources = Dictionary(names.files.map { ($0.name, $0.url) }) { first, _ in first }
        let wanted = manifest.references.filter { $0.role != .data }
        let held = copied.filter { $0.role != .data }
        // A reference that leads nowhere in the original leads nowhere in the copy.
        let copies = Self.once(held.map { (sources[$0.name] ?? nil) ?? DASHLab.origin })
        #expect(copies == Self.once(wanted.map(\.url)), "\(file.name)")
        #expect(names.files.allSatisfy { Self.isSafe($0.name) })
        #expect(Set(names.files.map(\.name)).count == names.files.count)
    }

    @Test("What several Representations inherit is told apart, bases go, and numbers and times keep their meaning")
    func inherited() throws {
        let lab = try DASHLab(
            period: """
                <BaseURL>media/</BaseURL><AdaptationSet mimeType="video/mp4"><SegmentTemplate timescale="10" \
                media="$RepresentationID$/$Time$.m4s" initialization="$RepresentationID$/init.mp4"><SegmentTimeline>\
                <S t="5" d="20" r="1"/></SegmentTimeline></SegmentTemplate><Representation id="../a" bandwidth="1"/>\
                <Representation id="b" bandwidth="2"/></AdaptationSet>
                """)
        var names = LocalNames(of: lab.manifest.references)
        let text = String(decoding: lab.manifest.local(&names), as: UTF8.self)
        #expect(names.files.map(\.name).contains("2-1.m4s") && text.contains(#"media="2-$Number$.m4s""#))
        #expect(text.contains(#"<S d="20" r="1" t="5"/>"#) && !text.contains("BaseURL") && !text.contains("$Time$"))
        #expect(names.files.map(\.url?.path).contains("/title/media/b/25.m4s"))
    }

    @Test("A common length becomes a timeline, so that no player looks for more segments than there are")
    func ends() throws {
        let lab = try DASHLab(
            period: """
                <AdaptationSet mimeType="video/mp4"><Representation id="a" bandwidth="1"><SegmentTemplate \
                timescale="2" duration="3" startNumber="5" media="$Number%05d$.m4s"/></Representation></AdaptationSet>
                """)
        var names = LocalNames(of: lab.manifest.references)
        let text = String(decoding: lab.manifest.local(&names), as: UTF8.self)
        #expect(text.contains(#"<SegmentTimeline><S d="3" r="2" t="0"/></SegmentTimeline>"#), "\(text)")
        #expect(!text.contains("duration=") || text.contains("mediaPresentationDuration"))
        #expect(names.files.map(\.name) == ["1-5.m4s", "1-6.m4s", "1-7.m4s"])
    }

    @Test("Each range of a list is a file of its own, and so is a range that begins a file; an index goes")
    func ranges() throws {
        let lab = try DASHLab(
            period: """
                <AdaptationSet mimeType="video/mp4"><Representation id="a" bandwidth="1"><BaseURL>all.mp4</BaseURL>\
                <SegmentList duration="2"><Initialization range="0-9"/><SegmentURL mediaRange="10-19" indexRange="10-12"/>\
                <SegmentURL media="b.m4s" mediaRange="5-6" index="b.sidx"/><SegmentURL media="c.m4s"/></SegmentList>\
                </Representation></AdaptationSet>
                """)
        var names = LocalNames(of: lab.manifest.references)
        let text = String(decoding: lab.manifest.local(&names), as: UTF8.self)
        #expect(names.files.map(\.name) == ["1.mp4", "2.mp4", "3.m4s", "4.m4s"])
        #expect(names.files.map(\.range) == [0..<10, 10..<20, 5..<7, nil])
        #expect(names.files.map(\.url?.path) == ["/title/all.mp4", "/title/all.mp4", "/title/b.m4s", "/title/c.m4s"])
        #expect(["ange=", "index", "BaseURL"].allSatisfy { !text.contains($0) }, "\(text)")
    }

    @Test("A range without an end is the rest of the file, and one that cannot be read stays as it is")
    func openRanges() throws {
        let lab = try DASHLab(
            period: """
                <AdaptationSet mimeType="video/mp4"><Representation id="a" bandwidth="1"><BaseURL>all.mp4</BaseURL>\
                <SegmentList duration="2"><Initialization range="0-"/><SegmentURL mediaRange="50000-"/>\
                <SegmentURL media="b.mp4" mediaRange="7-6"/></SegmentList></Representation></AdaptationSet>
                """)
        var names = LocalNames(of: lab.manifest.references)
        let text = String(decoding: lab.manifest.local(&names), as: UTF8.self)
        #expect(names.files.map(\.range) == [0..<Int64.max, 50_000..<Int64.max, nil])
        #expect(text.contains(#"media="3.mp4" mediaRange="7-6""#), "\(text)")
    }

    @Test("What stands in the MPD itself stays there")
    func inert() throws {
        let data = "data:video/mp4;base64,AAAAGGZ0eXA="
        let lab = try DASHLab(
            period: """
                <AdaptationSet mimeType="video/mp4"><Representation id="a" bandwidth="1"><SegmentList>\
                <Initialization sourceURL="\(data)"/><SegmentURL media="1.m4s"/></SegmentList></Representation>\
                <Representation id="b" bandwidth="2"><SegmentTemplate initialization="\(data)" media="2.m4s"/>\
                </Representation></AdaptationSet>
                """)
        var names = LocalNames(of: lab.manifest.references)
        let text = String(decoding: lab.manifest.local(&names), as: UTF8.self)
        #expect(text.contains(#"sourceURL="\#(data)""#) && text.contains(#"initialization="\#(data)""#), "\(text)")
        #expect(names.files.map(\.url?.path) == ["/title/1.m4s", "/title/2.m4s"])
    }

    @Test("What one URL leads to is one file, also if a number behind # tells its segments apart")
    func fragments() throws {
        let lab = try DASHLab(
            period: """
                <AdaptationSet mimeType="video/mp4"><SegmentTemplate media="all.mp4#$Number$" duration="1"/>\
                <Representation id="a" bandwidth="1"/></AdaptationSet>
                """)
        var names = LocalNames(of: lab.manifest.references)
        let text = String(decoding: lab.manifest.local(&names), as: UTF8.self)
        #expect(names.files.map(\.name) == ["1.mp4"] && text.contains(#"media="1.mp4""#), "\(text)")
    }
}
