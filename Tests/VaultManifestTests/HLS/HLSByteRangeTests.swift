import Testing
import VaultManifest
import VaultModel

@Suite("HLS byte ranges")
struct HLSByteRangeTests {
    @Test(
        "A range without an offset begins where the one before it ended, in the same resource",
        arguments: [
            ("#EXT-X-BYTERANGE:10@5\na\n#EXT-X-BYTERANGE:20\na\n#EXT-X-BYTERANGE:1\na", [5..<15, 15..<35, 35..<36]),
            ("#EXT-X-BYTERANGE:10@5\na\n#EXT-X-BYTERANGE:20@0\na\n#EXT-X-BYTERANGE:1\na", [5..<15, 0..<20, 20..<21]),
            ("#EXT-X-BYTERANGE:10@5\na\n#EXT-X-BYTERANGE:20\nb\n#EXT-X-BYTERANGE:1\nb", [5..<15, 0..<20, 20..<21]),
            ("#EXT-X-BYTERANGE:10@5\na\na\n#EXT-X-BYTERANGE:1\na", [5..<15, nil, 0..<1]),
            ("#EXT-X-BYTERANGE: 10 @ 5 \n#EXTINF:6,\n# b\na", [5..<15]),
            ("#EXT-X-MAP:URI=\"a\",BYTERANGE=\"10@5\"\n#EXT-X-BYTERANGE:20\na", [5..<15, 0..<20]),
            ("#EXT-X-MAP:URI=\"a\",BYTERANGE=\"10\"", [0..<10]),
            ("#EXT-X-BYTERANGE:10@5\na\n#EXT-X-BYTERANGE:5@\na", [5..<15, 15..<20]),
            ("#EXT-X-BYTERANGE:5@\na\n#EXT-X-MAP:URI=\"i\",BYTERANGE=\"5@ \"", [0..<5, 0..<5]),
            ("#EXT-X-BYTERANGE:9007199254740991@0\na", [0..<9_007_199_254_740_991]),
        ] as [(String, [Range<Int64>?])])
    func chains(lines: String, ranges: [ByteRange?]) throws {
        #expect(try HLSPlaylist("#EXTM3U\n\(lines)\n").references.map(\.range) == ranges)
    }

    @Test("A range of no bytes means the whole, as players request it; the next one begins where it ended")
    func empty() throws {
        let led = try HLSPlaylist(
            """
            #EXTM3U
            #EXT-X-BYTERANGE:0@10
            a
            #EXT-X-BYTERANGE:5
            a
            #EXT-X-BYTERANGE:0
            a
            #EXT-X-BYTERANGE:1
            a
            #EXT-X-MAP:URI="a",BYTERANGE="0@5"
            #EXT-X-PART:URI="p",BYTERANGE="0@5"
            #EXT-X-PART:URI="p",BYTERANGE="2"
            """
        ).led
        #expect(led.references.map(\.range) == [nil, 10..<15, nil, 15..<16, nil, nil, 5..<7])
    }

    @Test("Parts follow one another as segments do, and neither follows the other")
    func parts() throws {
        let led = try HLSPlaylist(
            """
            #EXTM3U
            #EXT-X-PART:URI="a",BYTERANGE="10@0"
            #EXT-X-PART:URI="a",BYTERANGE="20"
            #EXT-X-BYTERANGE:30@0
            a
            #EXT-X-PART:URI="b",BYTERANGE="5"
            #EXT-X-BYTERANGE:7
            a
            """
        ).led
        #expect(led.references.map(\.range) == [0..<10, 10..<30, 0..<30, 0..<5, 30..<37])
    }

    @Test(
        "A range that is not one, or ends beyond every file is refused with its line",
        arguments: [
            "", "x", "-1@0", "10@x", "@5", "@", "1.5@0", "10@0@0", "9223372036854775807@9223372036854775807",
            "9223372036854775808@0", "1@9007199254740991", "9007199254740992", String(repeating: "9", count: 400),
        ])
    func malformed(range: String) {
        let error = ManifestError.malformed(line: 2, .byteRange)
        #expect(throws: error) { try HLSPlaylist("#EXTM3U\n#EXT-X-BYTERANGE:\(range)\na\n") }
        #expect(throws: error) { try HLSPlaylist("#EXTM3U\n#EXT-X-MAP:URI=\"a\",BYTERANGE=\"\(range)\"\n") }
        #expect(throws: error) { try HLSPlaylist("#EXTM3U\n#EXT-X-PART:URI=\"a\",BYTERANGE=\"\(range)\"\n") }
    }

    @Test("Ranges that follow one another beyond every file are refused")
    func overflow() {
        let half = "#EXT-X-BYTERANGE:5000000000000000\na\n"
        #expect(throws: ManifestError.malformed(line: 5, .byteRange)) { try HLSPlaylist("#EXTM3U\n\(half)\(half)") }
    }
}
