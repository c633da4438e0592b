import Foundation
import Logging
import Testing
import VaultModel

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

@testable import VaultService

@Suite("Lines of the log")
struct LineLogHandlerTests {
    private static let time = Date(timeIntervalSince1970: 1_700_000_000.25)

    private func line(
        _ message: String, _ fields: [String: LogLine.Value] = [:], as format: LogFormat = .logfmt
    ) -> String {
        String(
            decoding: LogLine(time: Self.time, level: "notice", message: message, fields: fields).bytes(as: format),
            as: UTF8.self)
    }

    @Test("A line is written whole, although the reader is behind and the descriptor does not block")
    func slowReader() async throws {
        var ends: [Int32] = [0, 0]
        #expect(unsafe pipe(&ends) == 0)
        let (readEnd, writeEnd) = (ends[0], ends[1])
        #expect(fcntl(writeEnd, F_SETFL, O_NONBLOCK) == 0)
        let line = [UInt8](repeating: UInt8(ascii: "x"), count: 300_000) + [UInt8(ascii: "\n")]
        // More than a pipe can hold, so the rest can be written only after the reader has read something.
        let writing = Task.detached {
            LineLogHandler.write(line, to: writeEnd)
            close(writeEnd)
        }
        let told = try FileHandle(fileDescriptor: readEnd, closeOnDealloc: true).readToEnd()
        await writing.value
        #expect(told.map(Array.init) == line)
    }

    @Test("A line has time, level and message first, then its fields by name")
    func order() {
        let fields: [String: LogLine.Value] = ["zone": .text("a"), "bytes": .integer(7), "Age": .decimal(0.5)]
        #expect(
            line("serving", fields)
                == "time=2023-11-14T22:13:20.250Z level=notice message=serving Age=0.5 bytes=7 zone=a\n")
        #expect(
            line("serving", fields, as: .json)
                == #"{"time":"2023-11-14T22:13:20.250Z","level":"notice","message":"serving","Age":0.5,"#
                + #""bytes":7,"zone":"a"}"# + "\n")
    }

    @Test(
        "A value needs no quotation marks only if it is plain; whatever it contains, it stays in its line",
        arguments: [
            ("206", "206", #""206""#), ("a/b:c-d_e", "a/b:c-d_e", #""a/b:c-d_e""#), ("", #""""#, #""""#),
            ("two words", #""two words""#, #""two words""#), ("a=b", #""a=b""#, #""a=b""#),
            (#"say "hi""#, #""say \"hi\"""#, #""say \"hi\"""#), (#"C:\new"#, #""C:\\new""#, #""C:\\new""#),
            ("a\nlevel=error", #""a\nlevel=error""#, #""a\nlevel=error""#), ("\r\t", #""\r\t""#, #""\r\t""#),
            ("\u{0}\u{1B}[2J", #""\u0000\u001b[2J""#, #""\u0000\u001b[2J""#),
            ("\u{7F}\u{85}", #""\u007f\u0085""#, #""\u007f\u0085""#),
            ("\u{2028}\u{202E}", #""\u2028\u202e""#, #""\u2028\u202e""#),
            ("\u{E0001}", #""\udb40\udc01""#, #""\udb40\udc01""#), ("Füße 🎬", "\"Füße 🎬\"", "\"Füße 🎬\""),
        ])
    func values(text: String, plain: String, json: String) throws {
        #expect(line("m", ["v": .text(text)]).hasSuffix(" message=m v=\(plain)\n"))
        let object = line("m", ["v": .text(text)], as: .json)
        #expect(object.hasSuffix(#","message":"m","v":\#(json)}"# + "\n"))
        #expect(object.utf8.count { $0 == 0x0A } == 1)
        let read = try JSONDecoder().decode([String: String].self, from: Data(object.utf8))
        #expect(read["v"] == text)
        // A message is written like a value.
        #expect(line(text).hasSuffix(" message=\(plain)\n"))
    }

    @Test("A field cannot override the line's own members, and its name contains only plain characters")
    func names() {
        let forged: [String: LogLine.Value] = [
            "level": .text("critical"), "message": .text("forged"), "time": .integer(0), "a b=\n\"c": .integer(1),
            "": .integer(2),
        ]
        #expect(line("said", forged).hasSuffix(" level=notice message=said _=2 a_b___c=1\n"))
        #expect(line("said", forged, as: .json).hasSuffix(#""message":"said","_":2,"a_b___c":1}"# + "\n"))
    }

    @Test("Numbers that an event has as numbers stay numbers; text and numbers that JSON lacks are text")
    func numbers() throws {
        let written = Locked<[[UInt8]]>([])
        var logger = Logger(label: "test") { _ in
            LineLogHandler(.json) { line in written.withLock { $0.append(line) } }
        }
        logger[metadataKey: "request"] = "r-1"
        logger.notice(
            "answered",
            metadata: [
                "status": .number(206), "bytes": .number(Int64.max), "seconds": .seconds(.nanoseconds(1_234_567)),
                "text": "206", "flag": .stringConvertible(true), "nothing": .stringConvertible(Double.nan),
                "several": ["a", "b"],
            ])
        logger.info("quiet")
        let lines = written.withLock { $0.map { String(decoding: $0, as: UTF8.self) } }
        #expect(lines.count == 1)
        #expect(
            try #require(lines.first).hasSuffix(
                #","level":"notice","message":"answered","bytes":9223372036854775807,"flag":true,"nothing":"nan","#
                    + #""request":"r-1","seconds":0.001235,"several":"[\"a\", \"b\"]","status":206,"text":"206"}"#
                    + "\n"))
    }
}
