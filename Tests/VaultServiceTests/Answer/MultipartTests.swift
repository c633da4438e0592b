import Testing
import VaultModel

@testable import VaultService

@Suite("Multipart")
struct MultipartTests {
    private let multipart = Multipart(boundary: "b0", type: "video/mp4", total: 1000, parts: [0..<1, 990..<1000])

    @Test("Each part has its type and its range (RFC 9110 §14.6)")
    func heads() {
        #expect(multipart.contentType == "multipart/byteranges; boundary=b0")
        #expect(
            multipart.head(of: 990..<1000)
                == "\r\n--b0\r\nContent-Type: video/mp4\r\nContent-Range: bytes 990-999/1000\r\n\r\n")
        #expect(multipart.end == "\r\n--b0--\r\n")
    }

    @Test("The length is exact, to the byte")
    func length() {
        let body = multipart.parts.map { multipart.head(of: $0) + String(repeating: "x", count: $0.count) }.joined()
        #expect(multipart.length == Int64((body + multipart.end).utf8.count))
    }
}
