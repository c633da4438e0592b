import HTTPTypes
import Hummingbird
import Logging
import MediaVault
import NIOCore
import NIOEmbedded
import NIOHTTPTypes
import Testing
import VaultModel

@testable import VaultService

@Suite("Each request is decided on once, by itself", .timeLimit(.minutes(5)))
struct RequestAdmissionTests {
    /// A service without listeners, over an empty vault.
    private struct Service {
        let test: TestVault
        let vault: Vault
        let responder: ServiceResponder

        init() async throws {
            test = try await TestVault()
            vault = try await test.open(isOffline: true)
            responder = ServiceResponder(
                vault: vault, api: APIResponder(vault: vault, metrics: ServiceMetrics()),
                gate: try RequestGate(ServiceConfiguration(), of: vault))
        }

        func request(_ path: String, fields: HTTPFields = [:], expires: Int64 = 4_000_000_000) throws -> HTTPRequest {
            let link = vault.tokens.playbackPath(for: try MediaURL("http://a.example\(path)"), expires: expires)
            var fields = fields
            fields[.range] = "bytes=0-9"
            return HTTPRequest(
                method: .get, scheme: "http", authority: "127.0.0.1:8300", path: link, headerFields: fields)
        }

        func admit(_ request: HTTPRequest, _ verified: inout VerifiedTarget?) throws -> RequestAdmission {
            responder.gate.admit(
                request, at: try SocketAddress(ipAddress: "127.0.0.1", port: 8300), &verified)
        }

        /// A connection whose handler passes on everything, because the vault holds nothing.
        func connection() throws -> EmbeddedChannel {
            let logger = Logger.silent
            let channel = EmbeddedChannel(handler: CacheHitHandler(CacheHitResponder(responder, logger: logger)))
            channel.localAddress = try SocketAddress(ipAddress: "127.0.0.1", port: 8300)
            return channel
        }
    }

    /// Sends a request over a connection; returns the head that is passed on.
    private func pass(_ request: HTTPRequest, over channel: EmbeddedChannel) throws -> HTTPRequest? {
        try channel.writeInbound(HTTPRequestPart.head(request))
        try channel.writeInbound(HTTPRequestPart.end(nil))
        let parts = [try channel.readInbound(as: HTTPRequestPart.self), try channel.readInbound()]
        guard case .head(let head) = parts[0], case .end = parts[1] else { return nil }
        return head
    }

    /// Runs a check on a service; it does not suspend, because an embedded channel belongs to one thread.
    private func serving(_ check: (Service) throws -> Void) async throws {
        let service = try await Service()
        try check(service)
        await service.vault.close()
    }

    /// Ends the answer to the request that was passed on.
    private func answer(over channel: EmbeddedChannel) throws {
        try channel.writeOutbound(HTTPResponsePart.end(nil))
    }

    @Test("A request that is passed on takes the decision on it along, once")
    func passedOn() async throws {
        try await serving { service in
            let channel = try service.connection()
            let began = ContinuousClock.now
            let request = try #require(try pass(service.request("/film.mp4"), over: channel))
            let arrived = ContinuousClock.now
            let admission = try #require(CacheHitHandler.takeAdmission(of: request, on: channel))
            #expect(admission.request == request && (began...arrived).contains(admission.arrival))
            #expect(admission.media?.link.reference.url.path == "/film.mp4")
            #expect(admission.media?.link.resource != nil, "the title has been named, too")
            #expect(CacheHitHandler.takeAdmission(of: request, on: channel) == nil)
        }
    }

    @Test("A refusal, too, is decided once")
    func refused() async throws {
        try await serving { service in
            let channel = try service.connection()
            let origin = HTTPFields([HTTPField(name: .origin, value: "https://evil.example")])
            let request = try #require(try pass(service.request("/film.mp4", fields: origin), over: channel))
            let admission = try #require(CacheHitHandler.takeAdmission(of: request, on: channel))
            guard case .refused(let answer) = admission.verdict else {
                Issue.record("the page is not refused")
                return
            }
            #expect(answer.status == 403 && admission.media == nil)
        }
    }

    @Test("No request takes the decision on another, pipelined or later")
    func others() async throws {
        try await serving { service in
            let channel = try service.connection()
            let origin = HTTPFields([HTTPField(name: .origin, value: "https://evil.example")])
            let first = try #require(try pass(service.request("/film.mp4"), over: channel))
            // The first is not answered, so nothing is decided about the second, which names the same title.
            let second = try #require(try pass(service.request("/film.mp4", fields: origin), over: channel))
            #expect(CacheHitHandler.takeAdmission(of: second, on: channel) == nil)
            for _ in 0..<2 { try answer(over: channel) }
            // The decision on the first is gone with its answer, even if nothing took it.
            _ = try #require(try pass(first, over: channel))
            try answer(over: channel)
            #expect(CacheHitHandler.takeAdmission(of: first, on: channel) == nil)
        }
    }

    @Test("A verified target is not verified again until its links are revoked, or its title gets another name")
    func verified() async throws {
        let service = try await Service()
        let (vault, gate) = (service.vault, service.responder.gate)
        let request = try service.request("/film.mp4?token=1")
        var verified: VerifiedTarget?
        let first = try service.admit(request, &verified)
        #expect(first.media?.link.resource != nil)
        #expect(gate.holds(first) && verified?.target == request.path)
        var policy = KeyPolicy()
        try policy.ignore(["token"])
        try await vault.settings.setKeyPolicy(policy)
        #expect(!gate.holds(first), "the title has another name now")
        let second = try service.admit(request, &verified)
        #expect(gate.holds(second) && second.media?.link.resource != nil)
        // Another target is verified on its own.
        let other = try service.admit(service.request("/other.mp4"), &verified)
        #expect(other.media?.link.reference.url.path == "/other.mp4")
        try await vault.keys.revokeLinks()
        #expect(!gate.holds(second) && !gate.holds(other))
        #expect(try service.admit(request, &verified).media == nil && verified == nil)
        await vault.close()
    }

    @Test("A closed vault admits nothing, not even by a target that was verified before")
    func closed() async throws {
        let service = try await Service()
        let request = try service.request("/film.mp4")
        var verified: VerifiedTarget?
        let first = try service.admit(request, &verified)
        #expect(first.media != nil && service.responder.gate.holds(first))
        await service.vault.close()
        #expect(!service.responder.gate.holds(first))
        #expect(try service.admit(request, &verified).media == nil)
    }

    @Test("An expired link admits nothing, and is not kept")
    func expired() async throws {
        let service = try await Service()
        var verified: VerifiedTarget?
        let request = try service.request("/film.mp4", expires: 1)
        #expect(try service.admit(request, &verified).media == nil && verified == nil)
        await service.vault.close()
    }
}
