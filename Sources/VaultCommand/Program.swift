import ArgumentParser

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// The process: makes itself safe to hold keys, runs what the arguments name, and exits with the documented code.
@main
enum Program {
    static func main() async {
        ProcessHardening.apply()
        FreedMemory.keepSome()
        let status = await run(Array(CommandLine.arguments.dropFirst()))
        exit(status.rawValue)
    }

    private static func run(_ arguments: [String]) async -> ExitStatus {
        do {
            var command = try MediaVaultCommand.parseAsRoot(arguments)
            if var command = command as? any AsyncParsableCommand { try await command.run() } else { try command.run() }
            return .done
        } catch {
            return await report(Failure(error, arguments: arguments))
        }
    }

    private static func report(_ failure: Failure) async -> ExitStatus {
        switch failure {
        case .answer(let text):
            do { try await StandardOutput.shared.write(text + "\n") } catch { return .failed }
            return .done
        case .silent(let status):
            return status
        case .message(let text, let status):
            await Terminal.shared.say(text)
            return status
        }
    }
}
