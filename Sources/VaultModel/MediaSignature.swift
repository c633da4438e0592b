/// Recognizes audio and video files by their first bytes rather than by the type that their origin states, because many
/// servers send `text/plain` for any file with an unknown suffix.
package enum MediaSignature {
    /// The number of bytes that suffice to recognize a file.
    package static let byteCount = 512

    /// Returns whether the bytes begin like an audio or video file.
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

    /// Returns whether the bytes begin with a box of an ISO media file (ISO/IEC 14496-12 §4.2).
    private static func isBoxed(_ bytes: [UInt8]) -> Bool {
        // If the first box is smaller than 16 MiB, the file begins with a zero byte, as no text does.
        bytes.first == 0 && boxes.contains { bytes.dropFirst(4).starts(with: $0.utf8) }
    }

    /// Returns whether the bytes begin with a frame of MPEG audio, AAC (ADTS) or AC-3.
    private static func isFrame(_ bytes: [UInt8]) -> Bool {
        guard bytes.count > 2 else { return false }
        if bytes.starts(with: [0x0B, 0x77]) { return true }
        // A UTF-16 byte order mark looks like a layer I frame, so layer I, which nobody uses, is not recognized.
        let isAudio = bytes[1] & 0xE6 == 0xE2 || bytes[1] & 0xE6 == 0xE4
        let isAAC = bytes[1] & 0xF6 == 0xF0
        return bytes[0] == 0xFF && (isAAC || isAudio && bytes[2] & 0xF0 != 0xF0)
    }

    /// Returns whether the bytes are transport stream packets (ISO/IEC 13818-1 §2.4.3), with or without the timestamps
    /// that discs put before each packet.
    private static func isTransportStream(_ bytes: [UInt8]) -> Bool {
        [(0, 188), (4, 192)].contains { first, size in
            let packets = Array(stride(from: first, to: bytes.count, by: size))
            return packets.count >= 2 && packets.allSatisfy { bytes[$0] == 0x47 }
        }
    }
}
