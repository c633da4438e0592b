import Testing

@testable import VaultModel

@Suite("The first bytes of media")
struct MediaSignatureTests {
    private static func packets(_ size: Int, from first: Int) -> [UInt8] {
        (0..<512).map { $0 >= first && ($0 - first) % size == 0 ? 0x47 : 0x20 }
    }

    @Test(
        "Files of audio and video are known by them",
        arguments: [
            Array("fLaC\0\0\0\u{22}".utf8), Array("OggS\0".utf8), Array("ID3\u{4}\0".utf8),
            Array("RIFF....WAVEfmt ".utf8), Array("RIFF....AVI LIST".utf8), Array("\0\0\0 ftypisom".utf8),
            Array("\0\0\0 stypmsdh".utf8), [0x1A, 0x45, 0xDF, 0xA3, 1], [0xFF, 0xFB, 0x90, 0x64],
            [0xFF, 0xF3, 0x40, 0xC0], [0xFF, 0xF1, 0x50, 0x80], [0x0B, 0x77, 0x12, 0x34], [0, 0, 1, 0xBA, 0x44],
            packets(188, from: 0), packets(192, from: 4),
        ] as [[UInt8]])
    func media(_ bytes: [UInt8]) {
        #expect(MediaSignature.begins(bytes))
    }

    @Test(
        "Texts, pages, documents and their marks of encoding are none",
        arguments: [
            [], [0x47], [0xFF, 0xFE, 0x23, 0], [0xFE, 0xFF, 0, 0x23], [0xEF, 0xBB, 0xBF, 0x23],
            Array("Error: token expired".utf8), Array("FORMAT ERROR".utf8), Array("The free plan".utf8),
            Array("GGGG".utf8), Array("<html>".utf8), Array("{\"error\":1}".utf8),
            Array("%PDF-1.7".utf8), Array("RIFF....WEBPVP8 ".utf8), [0x50, 0x4B, 3, 4], [0x1F, 0x8B, 8, 0],
            Array("<?xml version=\"1.0\"?><Error/>".utf8), Array(repeating: 0, count: 512),
        ] as [[UInt8]])
    func others(_ bytes: [UInt8]) {
        #expect(!MediaSignature.begins(bytes))
    }
}
