/// The first bytes by which files of audio and video are known, whatever type their origin states: many servers state
/// `text/plain` of any file whose suffix they do not know.
package enum MediaSignature {
    /// The number of bytes in which it shows.
    package static let byteCount = 512

    /// Returns whether bytes begin like a file of audio or video.
    package static func begins(_ bytes: [UInt8]) -> Bool {
        isNamed(bytes) || isBoxed(bytes) || isFrame(bytes) || isTransportStream(bytes)
    }

    private static let names: [[UInt8]] =
        ["fLaC", "OggS", "ID3", "FLV\u{1}", "wvpk", "caff", ".snd", "#!AMR", "MThd", "MAC ", "WEBVTT"]
        .map { Array($0.utf8) } + [
            [0x1A, 0x45, 0xDF, 0xA3],  // Matroska, WebM
            [0x30, 0x26, 0xB2, 0x75, 0x8E, 0x66, 0xCF, 0x11],  // ASF
            [0, 0, 1, 0xBA], [0, 0, 1, 0xB3],  // MPEG program stream, MPEG video
        ]

    private static func isNamed(_ bytes: [UInt8]) -> Bool {
        if bytes.starts(with: "RIFF".utf8) {
            return ["WAVE", "AVI "].contains { bytes.dropFirst(8).starts(with: $0.utf8) }
        }
        if bytes.starts(with: "FORM".utf8) {
            return ["AIFF", "AIFC"].contains { bytes.dropFirst(8).starts(with: $0.utf8) }
        }
        return names.contains { bytes.starts(with: $0) }
    }

    private static let boxes = ["ftyp", "styp", "moov", "moof", "sidx", "mdat", "free", "skip", "wide"]

    /// Returns whether bytes begin with a box of an ISO file (ISO/IEC 14496-12 §4.2).
    private static func isBoxed(_ bytes: [UInt8]) -> Bool {
        // No first box is so large that its length begins as a letter does.
        bytes.first == 0 && boxes.contains { bytes.dropFirst(4).starts(with: $0.utf8) }
    }

    /// Returns whether bytes begin with a frame of MPEG audio, of AAC (ADTS) or of AC-3.
    private static func isFrame(_ bytes: [UInt8]) -> Bool {
        guard bytes.count > 2 else { return false }
        if bytes.starts(with: [0x0B, 0x77]) { return true }
        // A mark of UTF-16 looks like a frame of layer I, which nobody uses.
        let isAudio = bytes[1] & 0xE6 == 0xE2 || bytes[1] & 0xE6 == 0xE4
        let isAAC = bytes[1] & 0xF6 == 0xF0
        return bytes[0] == 0xFF && (isAAC || isAudio && bytes[2] & 0xF0 != 0xF0)
    }

    /// Returns whether packets of a transport stream begin where they must (ISO/IEC 13818-1 §2.4.3), with the times of a
    /// disc before them or without.
    private static func isTransportStream(_ bytes: [UInt8]) -> Bool {
        [(0, 188), (4, 192)].contains { first, size in
            let packets = Array(stride(from: first, to: bytes.count, by: size))
            return packets.count >= 2 && packets.allSatisfy { bytes[$0] == 0x47 }
        }
    }
}
