import MediaVaultTesting
import Testing
import VaultFetch
import VaultModel

@Suite("The checks of a transport", .timeLimit(.minutes(5)))
struct OriginConformanceTests {
    typealias Requirement = OriginConformance.Requirement

    @Test("The vault's own transport meets every requirement", arguments: Requirement.allCases)
    func ownTransport(requirement: Requirement) async {
        let report = await OriginConformance { CurlOrigin.make(allowing: $0) }.run([requirement])
        #expect(report.isEmpty, "\(report)")
    }

    @Test("A transport with one fault fails in the requirement that names it, and in no other", arguments: Fault.all)
    func faults(fault: Fault) async {
        // What never comes is missed after a limit, which must not be too short for what does come.
        let limit = fault.isSilence ? Duration.milliseconds(300) : .seconds(60)
        let named = await OriginConformance(limit: limit) { fault.origin(allowing: $0) }.run([fault.requirement])
        #expect(!named.findings.isEmpty && named.untried.isEmpty, "\(named)")
        let others = await OriginConformance(limit: .seconds(60)) { fault.origin(allowing: $0) }
            .run(Requirement.allCases.filter { $0 != fault.requirement })
        #expect(others.isEmpty, "\(others)")
    }

    @Test("For every requirement there is a transport with that fault, except for one that none can be made to have")
    func everyRequirement() {
        let open = Set(Requirement.allCases).subtracting(Fault.all.map(\.requirement))
        #expect(open == [.asksForIdentity], "no caller can change Accept-Encoding")
    }

    @Test("What needs redirects between hosts of this machine is untried if the transport follows none")
    func withoutExceptions() async {
        let report = await OriginConformance { _ in CurlOrigin.make(allowing: []) }.run()
        #expect(report.findings.isEmpty, "\(report)")
        #expect(Set(report.untried.keys) == [.keepsSecretsAtOrigin, .namesPrivateHosts])
    }

    @Test("A finding says what was expected and what happened")
    func description() async throws {
        let fault = try #require(Fault.all.first { $0.requirement == .passesOnRangeAnswers })
        let report = await OriginConformance { fault.origin(allowing: $0) }.run([fault.requirement])
        let finding = try #require(report.findings.first)
        #expect(finding.expected == "Content-Range to be [\"bytes 10-19/1000\"]" && finding.happened == "it was []")
        #expect("\(report)".hasPrefix("passesOnRangeAnswers: expected Content-Range to be"))
    }

    @Test("A transport that does nothing meets no requirement but those of what must not happen")
    func nothing() async {
        struct Nothing: Origin {
            func send(_ request: OriginRequest) async throws -> any OriginResponse {
                throw OriginFailure(.invalidResponse, "nothing was sent")
            }
        }
        // What is encoded may be refused.
        let negative: [Requirement] = [
            .endsRedirectLoops, .refusesOtherSchemes, .boundsHeads, .reportsInvalidHTTP, .namesNoSecrets,
            .passesOnContentCoding,
        ]
        let met = await OriginConformance(limit: .seconds(60)) { _ in Nothing() }.run(negative)
        #expect(met.isEmpty, "\(met)")
        let others = Requirement.allCases.filter { !negative.contains($0) }
        let report = await OriginConformance(limit: .milliseconds(200)) { _ in Nothing() }.run(others)
        #expect(Set(report.findings.map(\.requirement)).union(report.untried.keys) == Set(others))
    }

    @Test("Once its task is cancelled, a run tries nothing more")
    func cancelled() async {
        let task = Task {
            unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
            return await OriginConformance { CurlOrigin.make(allowing: $0) }.run([.sendsRange, .sendsFields])
        }
        let report = await task.value
        #expect(report.findings.isEmpty && Set(report.untried.keys) == [.sendsRange, .sendsFields])
    }
}
