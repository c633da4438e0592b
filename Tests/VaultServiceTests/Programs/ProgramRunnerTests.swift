import Foundation
import Testing
import VaultModel

@testable import VaultService

#if canImport(Glibc)
import Glibc
#endif

@Suite("Running the operator's programs", .timeLimit(.minutes(5)))
struct ProgramRunnerTests {
    // On a busy machine with hundreds of other tests, the usual time may run out.
    private let runner = ProgramRunner(limit: .seconds(240))

    init() { BrokenPipes.ignore() }

    private func text(_ output: [UInt8]) -> String { String(decoding: output, as: UTF8.self) }

    private func run(_ script: String, _ arguments: String..., input: String = "") async throws -> String {
        let program = try ProgramInvocation(["/bin/sh", "-c", script] + arguments)
        return text(try await runner.run(program, input: Array(input.utf8)))
    }

    private func failure(_ program: ProgramInvocation, in runner: ProgramRunner) async -> String? {
        await #expect(throws: ProgramFailure.self) { try await runner.run(program, input: []) }?.reason
    }

    @Test("A program gets its input and its arguments as they are, and what it prints is returned")
    func exchange() async throws {
        let given = try await run(#"printf '%s|' "$0" "$@"; cat"#, "a b", "$HOME; *", "", input: "hello\n")
        #expect(given == "a b|$HOME; *||hello\n")
    }

    @Test("A program gets nothing of the environment but PATH and LANG, and the root folder as its place")
    func environment() async throws {
        #expect(ProcessInfo.processInfo.environment.count > 2, "there is something to inherit")
        let names = try await run("/usr/bin/env | /usr/bin/cut -d= -f1 | /usr/bin/sort; pwd")
        let lines = names.split(separator: "\n").map(String.init)
        #expect(lines.last == "/" && lines.contains("PATH") && lines.contains("LANG"))
        // The shell adds these itself.
        #expect(Set(lines.dropLast()).subtracting(["PWD", "OLDPWD", "SHLVL", "_"]) == ["PATH", "LANG"])
    }

    #if os(Linux)
    @Test("A program inherits standard input, output and error, and no other descriptor")
    func descriptors() async throws {
        // The premise: a child would inherit this descriptor if the runner did not prevent it.
        let leaking = unsafe open("/dev/null", O_RDONLY)
        defer { close(leaking) }
        #expect(leaking > 2 && fcntl(leaking, F_GETFD) == 0)
        let open = try await run("for n in $(/usr/bin/seq 0 255); do [ -e /proc/self/fd/$n ] && echo $n; done; true")
        #expect(open.split(separator: "\n") == ["0", "1", "2"])
    }
    #endif

    @Test("A program leads a session of its own")
    func session() async throws {
        let fields = try await run("cut -d' ' -f1,5,6 /proc/$$/stat; echo $$").split { " \n".contains($0) }
        #expect(Set(fields).count == 1 && fields.count == 4, "\(fields)")
    }

    @Test("A program that runs too long is killed, and so is what it started")
    func tooLong() async throws {
        let folder = try ProgramFolder()
        let pids = folder.path + "/pids"
        let script = try folder.script("hang", "sleep 600 & echo $! $$ > \(pids); cat > /dev/null; wait")
        let short = ProgramRunner(limit: .seconds(1))
        #expect(await failure(try ProgramInvocation([script]), in: short)?.contains("more than 1 seconds") == true)
        let started = try #require(folder.lines("pids").first).split(separator: " ").compactMap { pid_t($0) }
        #expect(started.count == 2)
        // The kernel may take a moment to remove what init has to reap.
        for pid in started {
            while kill(pid, 0) == 0, !Self.isZombie(pid) { try await Task.sleep(for: .milliseconds(10)) }
        }
    }

    private static func isZombie(_ pid: pid_t) -> Bool {
        let status = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8)
        return status?.split(separator: ")").last?.hasPrefix(" Z") ?? true
    }

    @Test("A task that is cancelled kills its program")
    func cancelled() async throws {
        let folder = try ProgramFolder()
        let script = try folder.script("hang", "echo $$ > \(folder.path)/pid; exec sleep 600")
        let task = Task { [runner] in try await runner.run(ProgramInvocation([script]), input: []) }
        while folder.lines("pid").isEmpty { try await Task.sleep(for: .milliseconds(10)) }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        let pid = try #require(folder.lines("pid").first.flatMap { pid_t($0) })
        #expect(kill(pid, 0) != 0)
    }

    @Test("The most that a program may print is taken; one byte more is a failure")
    func output() async throws {
        let script = "/usr/bin/head -c \(ProgramRunner.maxOutput) /dev/zero"
        #expect(try await run(script).utf8.count == ProgramRunner.maxOutput)
        let endless = try ProgramInvocation(["/bin/sh", "-c", "\(script); echo"])
        #expect(await failure(endless, in: runner)?.contains("64 KiB") == true)
        #expect(await failure(try ProgramInvocation(["/usr/bin/yes"]), in: runner)?.contains("64 KiB") == true)
    }

    @Test("A program that does not read its input is no failure; one that fails is, and what it printed is not told")
    func endings() async throws {
        let long = String(repeating: "x", count: 1 << 20)
        #expect(try await run("exec 0<&-; echo done", input: long) == "done\n")
        let failing = try ProgramInvocation(["/bin/sh", "-c", "echo secret; echo secret >&2; exit 3"])
        let reason = try #require(await failure(failing, in: runner))
        #expect(reason.contains("3") && !reason.contains("secret"))
        let none = try ProgramInvocation(["/nowhere/notify"])
        #expect(await failure(none, in: runner) == "there is no such file")
        let folder = try ProgramFolder()
        let broken = try folder.script("broken", "")
        try Data("#!/nowhere/interpreter\n".utf8).write(to: URL(filePath: broken))
        try folder.setMode(0o700, of: broken)
        #expect(await failure(try ProgramInvocation([broken]), in: runner) == "it cannot be run")
    }

    @Test("A helper that a program leaves behind with its output does not hold up the answer")
    func leftBehind() async throws {
        #expect(try await run("sleep 5 & echo done") == "done\n")
    }
}
