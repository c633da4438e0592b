import ArgumentParser
import CRevision
import Dispatch
import MediaVault
import VaultModel

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// The main program. It hardens the process, runs the command that the arguments name, and exits with the command's
/// exit code.
@main
enum Program {
    // This function is not asynchronous, because then the runtime would open descriptors before they are counted.
    static func main() {
        ProcessHardening.apply()
        do throws(VaultError) {
            try SystemRoom.prepare()
        } catch {
            Terminal.sayAlone(error.text)
            exit(ExitStatus(error.code).rawValue)
        }
        MemoryTrimming.keepFreedMemory()
        Task { exit(await run().rawValue) }
        dispatchMain()
    }

    private static func run() async -> ExitStatus {
        do {
            try ProcessInput.check()
            return await run(GlobalOptions.moved(try ProcessInput.arguments(), of: MediaVaultCommand.self))
        } catch {
            return await report(Failure(error))
        }
    }

    /// - Parameter arguments: this process's arguments, beginning with the subcommand.
    private static func run(_ arguments: [String]) async -> ExitStatus {
        do {
            if let sentence = CommandLineError(arguments).sentenceOfHelp { throw UsageError(sentence) }
            var command = try await MediaVaultCommand.asyncParseAsRoot(arguments)
            let kind = type(of: command)
            guard kind.configuration.subcommands.isEmpty else { throw MissingCommand(of: kind) }
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
        case .help(let text):
            await Terminal.shared.show(help: text)
            return .usage
        case .message(let text, let status):
            await Terminal.shared.say(text)
            return status
        }
    }
}

/// The root command `mediavault` with its subcommands.
struct MediaVaultCommand: AsyncParsableCommand {
    /// The text in which `--version` shows the commit that the command was built from; empty if the build did not
    /// record the commit.
    private static var commit: String {
        // The text is a constant of the program, so it ends with a zero byte and never changes.
        let text = unsafe String(cString: crevision_commit())
        return text.isEmpty ? "" : " (commit \(text))"
    }

    static let configuration = CommandConfiguration(
        commandName: "mediavault",
        abstract: "Store remote audio and video in an encrypted vault, and play it offline.",
        discussion: """
            Getting started:
              export MEDIAVAULT_KEY_FILE=~/keys/mediavault.key
              mediavault init
              mediavault serve &
              mpv "$(mediavault url https://host/film.mp4)"

            Exit codes:
              0  success                          4  integrity failure
              1  failure                          5  origin failed or refused
              2  usage error                      6  not held
              3  wrong key or keyring, or locked  130  interrupted
            """,
        version: "mediavault \(Vault.version)" + commit,
        subcommands: [
            InitCommand.self, FetchCommand.self, ImportCommand.self, SyncCommand.self, DownloadsCommand.self,
            CatCommand.self,
            ListCommand.self, CollectionCommand.self,
            InfoCommand.self,
            ExplainCommand.self,
            StatusCommand.self, ReadyCommand.self, ServeCommand.self, OpenCommand.self, URLCommand.self,
            LinksCommand.self, TokenCommand.self, SessionsCommand.self, ViewersCommand.self, ShareCommand.self,
            UnshareCommand.self,
            RemoveCommand.self,
            ShredCommand.self, PinCommand.self,
            UnpinCommand.self, RenameCommand.self, CoverCommand.self, SubtitlesCommand.self, ModeCommand.self,
            PruneCommand.self,
            ExportCommand.self,
            VerifyCommand.self,
            IndexCommand.self, ConfigCommand.self, KeysCommand.self,
        ])
}
