import ArgumentParser
import Foundation
import MediaVault
import VaultModel
import VaultService

struct OpenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "open", abstract: "Open the service's pages in a browser, signed in.",
        discussion: """
            The pages show titles and play them, and the owner runs the service there. The browser signs in with a \
            ticket, which is good once and for a minute; its session ends after a week, or after 12 hours without a \
            request. The command sessions lists sessions and ends them.

            The service must run, on this machine's loopback address or with TLS. For a browser on another machine, \
            --print prints the link in place of opening it; the first browser that opens it is signed in.
            """)

    @Flag(help: "Print the link, and open nothing.")
    var print = false

    @OptionGroup var reach: BrowserAddress

    @OptionGroup var access: VaultAccess

    func run() async throws {
        let service = try await SignInLink.service(of: access)
        let before = Set(try await service.vault.call(Operations.Grants.sessions).sessions.map(\.id))
        let link = try await service.link(listen: reach.listen, viewer: nil)
        guard !print else { return try await link.print() }
        let page = try RedirectPage(to: link.text)
        defer { page.remove() }
        try await Interruption.cancelling("the browser may have signed in; sessions list shows it") {
            try await page.open()
            for _ in 0..<(2 * link.lifetime) {
                try await Task.sleep(for: .milliseconds(500))
                if let new = try await service.vault.call(Operations.Grants.sessions).sessions.first(where: {
                    $0.viewer == nil && !before.contains($0.id)
                }) {
                    return await Terminal.shared.say("signed in: session \(new.id), \(new.browser ?? "a browser")")
                }
            }
            throw VaultError(
                .busy, "no browser has signed in within a minute; mediavault open --print prints a link to open by hand"
            )
        }
    }
}

/// A page that redirects a browser to a link.
///
/// The link is in a file rather than an argument, because other users of this machine can see the browser's arguments,
/// but cannot read the file.
private struct RedirectPage {
    private let folder: URL
    private let file: URL

    init(to link: String) throws {
        // This is the user's own folder in memory, if the system has one.
        let own = ProcessEnvironment.current["XDG_RUNTIME_DIR"].flatMap { path in
            FileManager.default.isWritableFile(atPath: path) ? URL(filePath: path) : nil
        }
        let parent = own ?? FileManager.default.temporaryDirectory
        folder = parent.appending(path: "mediavault-\(UUID().uuidString)")
        file = folder.appending(path: "open.html")
        let text = """
            <!doctype html>
            <meta charset="utf-8">
            <meta name="referrer" content="no-referrer">
            <meta http-equiv="refresh" content="0;url=\(link)">
            <title>MediaVault</title>

            """
        do {
            try FileManager.default.createDirectory(
                at: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        } catch {
            throw VaultError(.storage, "cannot create a folder in \(parent.path); make room or fix its permissions")
        }
        guard
            FileManager.default.createFile(
                atPath: file.path, contents: Data(text.utf8), attributes: [.posixPermissions: 0o600])
        else { throw VaultError(.storage, "cannot write a file to \(folder.path); make room there") }
    }

    func remove() { try? FileManager.default.removeItem(at: folder) }

    /// Starts the user's browser.
    func open() async throws {
        #if os(macOS)
        let opener = "open"
        #else
        let opener = "xdg-open"
        #endif
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = [opener, file.path]
        // These variables are removed, because the browser does not need the paths of keys.
        process.environment = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("MEDIAVAULT_") }
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        let status = try await withCheckedThrowingContinuation { (done: CheckedContinuation<Int32?, any Error>) in
            let isTold = Locked(false)
            @Sendable func tell(_ status: Int32?) {
                guard
                    isTold.withLock({ was in
                        defer { was = true }
                        return !was
                    })
                else { return }
                done.resume(returning: status)
            }
            process.terminationHandler = { tell($0.terminationStatus) }
            do { try process.run() } catch { return tell(127) }
            // If the process is still running by then, the browser has started in the foreground.
            DispatchQueue.global().asyncAfter(deadline: .now() + 5) { tell(nil) }
        }
        guard status == nil || status == 0 else {
            throw VaultError(
                .storage,
                "\(opener) found no browser to start; mediavault open --print prints a link to open by hand")
        }
    }
}

struct SessionsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sessions", abstract: "List and end the sessions of browsers that are signed in.",
        discussion: "The command open begins one.",
        subcommands: [SessionsListCommand.self, SessionsRenameCommand.self, SessionsRevokeCommand.self])
}

struct SessionsListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the sessions of browsers, and when each was last used.",
        discussion: "Times are in UTC.", aliases: ["ls"])

    @OptionGroup var access: VaultAccess

    @OptionGroup var output: JSONOption

    func run() async throws {
        let document = try await access.asking { try await $0.call(Operations.Grants.sessions) }
        await IssuedText.warn(ofDamaged: document.damaged)
        guard !output.isJSON else { return try await StandardOutput.shared.writeJSON(document) }
        if document.sessions.isEmpty { await Terminal.shared.say("there are no sessions") }
        let rows = document.sessions.map { session in
            [
                session.id, IssuedText.day(session.created), IssuedText.expiry(session.expires),
                session.lastUsed.map { "\($0)" } ?? "never", Terminal.printable(session.viewer ?? "the owner"),
                Terminal.printable(session.browser ?? "-"),
            ]
        }
        try await StandardOutput.shared.write(
            IssuedText.table(["ID", "CREATED", "EXPIRES", "USED", "WHO", "BROWSER"], rows))
    }
}

struct SessionsRenameCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rename", abstract: "Give a session a name, such as that of its device.")

    @Argument(
        help: ArgumentHelp("Id of the session, as list prints it.", valueName: "id"),
        completion: ServiceCompletion.sessions)
    var id: String

    @Argument(help: "The name: one line of at most 100 characters.")
    var name: String

    @OptionGroup var owner: OwnerAccess

    func run() async throws {
        let order = SessionNaming(id: id, name: name)
        _ = try await owner.acting(ifInterrupted: "the session may have the new name") {
            try await $0.call(Operations.Grants.nameSession, order)
        }
        await Terminal.shared.say("session \(Terminal.printable(order.id)) is named \(Terminal.printable(order.name))")
    }
}

struct SessionsRevokeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "revoke", abstract: "End sessions: their browsers are signed out at once.",
        discussion: "What already plays continues until its answer ends.")

    @Argument(help: RevocationArguments.help, completion: ServiceCompletion.sessions)
    var names: [String] = []

    @OptionGroup var revocation: RevocationArguments

    func validate() throws { try revocation.check(beside: names) }

    func run() async throws { try await revocation.revoke(names, .sessions) }
}
