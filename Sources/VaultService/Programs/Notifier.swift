import Logging
import MediaVault
import VaultModel

/// Notifies the operator's program of a vault's incidents while ``run()`` is running, one notice at a time.
final class Notifier: Sendable {
    /// An incident whose title has not yet been looked up.
    enum Incident: Sendable {
        case store(StoreEvent)
        case failed(FailedDownload)
        case damaged(ResourceID)
        /// A run of a subscription failed.
        case unread(MediaSubscription)
        /// The disk was full or read-only when the service started.
        case startedAsReader
        /// A check for titles that expire soon is due.
        case lookAhead
    }

    private let vault: Vault
    private let logger: Logger
    private let runner: ProgramRunner
    private let incidents: AsyncStream<Incident>
    private let noting: AsyncStream<Incident>.Continuation

    /// The interval at which to look for titles that expire soon.
    private static let lookAhead: Duration = .seconds(3600)
    /// The maximum number of incidents that wait while the program runs. If there are more, the oldest are kept.
    private static let maxWaiting = 256

    init(_ vault: Vault, logger: Logger, runner: ProgramRunner = ProgramRunner()) {
        (self.vault, self.logger, self.runner) = (vault, logger, runner)
        (incidents, noting) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(Self.maxWaiting))
    }

    /// Queues an incident without waiting.
    func note(_ incident: Incident) { noting.yield(incident) }

    /// Sends notices until the task is cancelled.
    func run() async {
        if vault.isOwner { note(.lookAhead) }
        let ticking = Task { [weak self] in
            while true {
                try await Task.sleep(for: Self.lookAhead)
                self?.note(.lookAhead)
            }
        }
        defer { ticking.cancel() }
        var plan = NoticePlan()
        for await incident in incidents {
            // If there is no program, no notice counts as sent.
            guard let program = try? await vault.settings.programs().notify else { continue }
            for notice in await notices(of: incident) {
                guard let admitted = plan.admit(notice) else { continue }
                await send(admitted, to: program)
            }
        }
    }

    /// Returns the notices about an incident.
    private func notices(of incident: Incident) async -> [OperatorNotice] {
        let now = Timestamp(seconds: vault.now)
        switch incident {
        case .store(let event): return OperatorNotice(event, at: now).map { [$0] } ?? []
        case .failed(let failed): return OperatorNotice(failed, at: now).map { [$0] } ?? []
        case .unread(let subscription): return OperatorNotice(subscription, at: now).map { [$0] } ?? []
        case .startedAsReader:
            return [
                OperatorNotice(
                    .diskFull, at: now,
                    "the disk was full or read-only when the service started, so it only reads the vault; free space or "
                        + "make it writable, then start the service again")
            ]
        case .damaged(let id):
            // Damage to a part is reported for each title to which the part belongs.
            var notices: [OperatorNotice] = []
            for title in (try? await vault.titles.containing(id)) ?? [id] {
                let (titleID, name) = await names(of: title)
                notices.append(.damage(id: titleID, name: name, at: now))
            }
            return notices
        case .lookAhead:
            var notices: [OperatorNotice] = []
            for title in (try? await vault.space.expiringTitles()) ?? [] {
                let (titleID, name) = await names(of: title.resource)
                notices.append(.expiring(at: title.expires, id: titleID, name: name, now: now))
            }
            return notices
        }
    }

    private func names(of title: ResourceID) async -> (TitleID?, String?) {
        let summary = (try? await vault.titles.summary(of: title)) ?? nil
        return (summary?.id, summary?.name)
    }

    private func send(_ notice: OperatorNotice, to program: ProgramInvocation) async {
        do {
            _ = try await runner.run(program, input: try JSONText.bytes(of: notice) + [UInt8(ascii: "\n")])
            logger.info("the operator was notified", metadata: ["kind": "\(notice.kind.rawValue)"])
        } catch let failure as ProgramFailure {
            logger.warning(
                "notify-command could not be run",
                metadata: ["kind": "\(notice.kind.rawValue)", "detail": "\(failure.reason)"])
        } catch {
            // The service is shutting down.
        }
    }
}
