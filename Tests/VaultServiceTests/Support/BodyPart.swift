/// One part of a `multipart/byteranges` body, parsed by RFC 2046.
struct BodyPart {
    let type: String?
    /// The value of its `Content-Range`.
    let range: String?
    let bytes: [UInt8]

    /// Returns the parts of a body, or nil if its type is another one or its format is invalid.
    static func parts(of body: [UInt8], type: String?) -> [BodyPart]? {
        let start = "multipart/byteranges; boundary="
        guard let type, type.hasPrefix(start) else { return nil }
        let delimiter = Array("\r\n--\(type.dropFirst(start.count))".utf8)
        // The first delimiter may have no line end before it.
        let sections = (Array("\r\n".utf8) + body).split(around: delimiter)
        guard sections.count >= 2, sections[0].allSatisfy({ $0 == 13 || $0 == 10 }),
            sections[sections.count - 1] == Array("--\r\n".utf8)
        else { return nil }
        var parts: [BodyPart] = []
        for section in sections.dropFirst().dropLast() {
            let halves = section.split(around: Array("\r\n\r\n".utf8), most: 2)
            guard halves.count == 2, let head = RawHead("HTTP/1.1 200 OK" + String(decoding: halves[0], as: UTF8.self))
            else { return nil }
            parts.append(
                BodyPart(type: head.fields["content-type"], range: head.fields["content-range"], bytes: halves[1]))
        }
        return parts
    }
}

extension [UInt8] {
    /// Returns the pieces between the occurrences of `separator`.
    fileprivate func split(around separator: [UInt8], most: Int = .max) -> [[UInt8]] {
        var (pieces, start, index) = ([[UInt8]](), 0, 0)
        while pieces.count + 1 < most, index + separator.count <= count {
            if self[index] == separator[0], self[index...].starts(with: separator) {
                pieces.append(Array(self[start..<index]))
                index += separator.count
                start = index
            } else {
                index += 1
            }
        }
        return pieces + [Array(self[start...])]
    }
}
