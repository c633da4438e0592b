import OriginServer
import VaultModel

/// The trial of one requirement: makes transports, keeps what is found, and limits the time.
struct Trial: Sendable {
    typealias Check = @Sendable (Trial) async throws -> Void

    private struct Outcome {
        var findings: [OriginConformance.Finding] = []
        var obstacle: String?
    }

    /// The outcome, shared by the copies of a trial. What comes after the trial's end, from work that was given up, is
    /// dropped.
    private final class Record: Sendable {
        let outcome = Locked(Outcome())
        let isClosed = Locked(false)
        /// The transports that the trial made. An app keeps its transport, too, so a check must not release one early.
        let origins = Locked<[any Origin]>([])
    }

    let requirement: OriginConformance.Requirement
    let limit: Duration
    private let makeOrigin: @Sendable (Set<String>) async -> any Origin
    private let record = Record()

    init(
        requirement: OriginConformance.Requirement, limit: Duration,
        makeOrigin: @escaping @Sendable (Set<String>) async -> any Origin
    ) {
        self.requirement = requirement
        self.limit = limit
        self.makeOrigin = makeOrigin
    }

    var findings: [OriginConformance.Finding] { record.outcome.withLock(\.findings) }
    /// Why the requirement could not be tried; nil if it was.
    var obstacle: String? { record.outcome.withLock(\.obstacle) }

    /// Runs the requirement's check.
    func carryOut() async {
        // A check waits for up to twenty things in turn, each with the limit.
        let hasEnded: Bool? = await TimeLimit.run(limit * 20) {
            do {
                try await requirement.check(self)
            } catch {
                expect(false, "the check to run", happened: "\(Reception.name(error)) was thrown")
            }
            return true
        }
        if hasEnded == nil {
            expect(false, "everything to end in time", happened: "after \(limit * 20) something had not ended")
        }
        record.isClosed.withLock { $0 = true }
        let ended = record.origins.withLock { origins in
            defer { origins = [] }
            return origins
        }
        withExtendedLifetime(ended) {}
    }

    /// The hosts of this machine, for a transport that lets redirects lead to them.
    static let thisMachine: Set<String> = ["127.0.0.1", "localhost"]

    /// Makes a transport.
    func origin(allowing hosts: Set<String> = []) async -> any Origin {
        let origin = await makeOrigin(hosts)
        record.origins.withLock { $0.append(origin) }
        return origin
    }

    /// Sends a request, and reads the body to its end, as long as the limit allows.
    func receive(_ request: OriginRequest, from origin: any Origin) async -> Reception {
        await TimeLimit.run(limit) { await Reception.of(request, from: origin) } ?? Reception(isUnended: true)
    }

    /// Records a finding unless the condition holds.
    func expect(_ isMet: Bool, _ expected: String, happened: @autoclosure () -> String) {
        guard !isMet, !record.isClosed.withLock(\.self) else { return }
        let finding = OriginConformance.Finding(requirement: requirement, expected: expected, happened: happened())
        record.outcome.withLock { $0.findings.append(finding) }
    }

    /// Records a finding unless both values are equal.
    func expect<Value: Equatable>(_ value: Value?, is expected: Value?, _ what: String) {
        expect(value == expected, "\(what) to be \(Self.text(expected))", happened: "it was \(Self.text(value))")
    }

    /// Records a finding unless a request failed in one of these ways.
    func expect(_ reception: Reception, failsBy kinds: [OriginFailure.Kind], _ what: String) {
        let wanted = kinds.map { "\($0)" }.joined(separator: " or ")
        expect(
            reception.failure.map(kinds.contains) ?? false, "\(what) to fail as \(wanted)",
            happened: reception.description)
    }

    /// Records a finding unless a request was answered so, and without a failure.
    func expect(_ reception: Reception, brings status: Int, _ bytes: [UInt8], _ what: String) {
        let isMet = reception.error == nil && reception.head?.status == status && reception.bytes == bytes
        let expected = "\(what) to bring HTTP \(status) with \(bytes.count) bytes"
        let areOthers = reception.bytes.count == bytes.count && reception.bytes != bytes
        expect(isMet, expected, happened: reception.description + (areOthers ? ", others than were sent" : ""))
    }

    /// Records a finding unless so many requests have come.
    func expect(_ count: Int, requestsAt server: ScriptedOrigin) {
        expect(server.exchanges.count, is: count, "the number of requests that came")
    }

    /// Records why the requirement cannot be tried.
    func giveUp(_ reason: String) { record.outcome.withLock { $0.obstacle = reason } }

    /// Records a finding unless the server comes to a state in time.
    func expect(
        _ server: ScriptedOrigin, _ what: String, until condition: @escaping @Sendable ([Exchange]) -> Bool
    ) async {
        let isMet: Void? = await TimeLimit.run(limit) { await server.wait(until: condition) }
        expect(isMet != nil, what, happened: "it had not happened after \(limit)")
    }

    /// Records a finding unless the task ends in time with `CancellationError`.
    func expectCancelled<Value: Sendable>(_ task: Task<Value, any Error>, _ what: String) async {
        switch await TimeLimit.run(limit, { await task.result }) {
        case nil: expect(false, "\(what) to end", happened: "it had not ended after \(limit)")
        case .success: expect(false, "\(what) to throw CancellationError", happened: "it returned")
        case .failure(let error):
            expect(
                error is CancellationError, "\(what) to throw CancellationError",
                happened: "\(Reception.name(error)) was thrown")
        }
    }

    private static func text<Value>(_ value: Value?) -> String {
        guard let value else { return "nil" }
        let text = "\(value)"
        return text.count > 300 ? String(text.prefix(300)) + "…" : text
    }
}
