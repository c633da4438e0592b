import OriginTestSupport
import Testing
import VaultModel

@testable import MediaVault

/// What an origin answers at the paths of feeds; files are everywhere else.
final class FeedPlaces: Sendable {
    struct Answer: Sendable {
        var status = 200
        var fields: [String: String] = [:]
        var text = ""
    }

    let answers = Locked<[String: Answer]>([:])

    func set(_ path: String, _ text: String) { answers.withLock { $0[path] = Answer(text: text) } }

    func set(_ path: String, status: Int, _ fields: [String: String] = [:]) {
        answers.withLock { $0[path] = Answer(status: status, fields: fields) }
    }

    func answer(to request: ScriptedRequest) -> ScriptedAnswer? {
        guard let found = answers.withLock({ $0[request.target] }) else { return nil }
        let body = Array(found.text.utf8)
        var answer = ScriptedAnswer(found.status, fields: ["Content-Length": "\(body.count)"], body: [.bytes(body)])
        for (name, value) in found.fields { answer.set(name, value) }
        return answer
    }
}

/// A vault, and an origin of feeds and their files.
struct FeedLab {
    let fixture: VaultFixture
    let places = FeedPlaces()

    init() async throws {
        fixture = try await VaultFixture(ScriptedResource(length: 1000))
        fixture.origin.answer { [places, resource = fixture.resource] in
            places.answer(to: $0) ?? resource.answer(to: $0)
        }
    }

    static func rss(_ names: [String], _ channel: String = "") -> String {
        let items = names.map { "<item><guid>\($0)</guid><enclosure url='/\($0).mp4'/></item>" }.joined()
        return "<rss><channel><title>S</title>\(channel)\(items)</channel></rss>"
    }

    static func next(_ place: String) -> String { "<atom:link rel='next' href='\(place)'/>" }

    func url(_ path: String) -> String { fixture.origin.url(path).absoluteString }

    func asked(_ path: String) -> Int { fixture.origin.exchanges.count { $0.request.target == path } }

    /// Runs a feed, and fetches what is new.
    @discardableResult
    func sync(_ vault: Vault, newest: Int64? = nil, contentIDs: Bool = false) async throws -> SyncReport {
        var choices = MediaSubscription.Choices()
        (choices.newest, choices.usesContentIDs) = (newest, contentIDs)
        var report = try await vault.subscriptions.sync(.feed(url("/feed")), choices)
        for (_, entry) in report.fetch { for try await _ in vault.download(entry.reference) {} }
        if report.waiting > 0 {
            report.removals = try await vault.subscriptions.sync(.feed(url("/feed")), choices).removals
        }
        return report
    }

    func subscription(_ vault: Vault) async throws -> MediaSubscription {
        try #require(try await vault.subscriptions.all().subscriptions.first)
    }

    func held(_ vault: Vault) async throws -> [String] {
        try await vault.titles.list().reduce(into: [String]()) { $0.append(try MediaURL($1.url).path) }.sorted()
    }

    /// Returns the choices of a subscription that a service runs.
    static func choices(every interval: Int64) -> MediaSubscription.Choices {
        var choices = MediaSubscription.Choices()
        choices.interval = interval
        return choices
    }
}
