import Testing
import VaultModel

@Suite("Programs that the operator names")
struct ProgramInvocationTests {
    @Test("A path and its arguments are kept word for word: nothing is split or expanded")
    func words() throws {
        let words = ["/usr/local/bin/notify", "--to", "a b", "$HOME; *", ""]
        let program = try ProgramInvocation(words)
        #expect(program.path == words[0] && program.arguments == Array(words.dropFirst()))
        #expect(program.words == words)
    }

    @Test(
        "A program without an absolute path, and words that no program can get, are refused",
        arguments: [
            [], [""], ["notify"], ["./notify"], ["~/notify"], ["/"], ["/usr/local/"], ["/bin/sh", "a\0b"],
            ["/b\0in/sh"],
        ])
    func refused(words: [String]) {
        let error = #expect(throws: VaultError.self) { try ProgramInvocation(words) }
        #expect(error?.code == .invalidArgument)
    }

    @Test("The number of words and their bytes are bounded")
    func bounds() throws {
        let most = Array(repeating: "a", count: ProgramInvocation.maxWords - 1)
        #expect(try ProgramInvocation(["/p"] + most).arguments.count == most.count)
        #expect(throws: VaultError.self) { try ProgramInvocation(["/p", "a"] + most) }
        let longest = String(repeating: "a", count: ProgramInvocation.maxBytes - 2)
        #expect(try ProgramInvocation(["/p", longest]).arguments == [longest])
        #expect(throws: VaultError.self) { try ProgramInvocation(["/p", longest + "a"]) }
    }
}
