import Foundation
import MediaVault
import OriginTestSupport
import Testing
import VaultTestSupport

@testable import VaultService

@Suite("Ids in the API", .timeLimit(.minutes(5)))
struct TitleIDTests {
    private let title = ScriptedResource(seed: 7, length: 100_000)

    private func serving(
        _ body: @escaping @Sendable (RunningService, MediaURL, TitleID) async throws -> Void
    ) async throws {
        let origin = try ScriptedOrigin(title)
        defer { origin.stop() }
        let url = origin.url("/film?t=1")
        try await RunningService.run(over: try await TestVault(), hasControl: true) { service in
            for try await _ in service.vault.download(url) {}
            let id = try #require(try await service.vault.titles.summary(of: url)?.id)
            try await body(service, url, id)
        }
    }

    private static let bodies = [
        ("resource", ""), ("explanation", ""), ("modes", #","mode":"default""#), ("links", ""),
        ("downloads", #","detached":true"#),
    ]
    private static let lists = ["verifications", "reseals", "shreds"]

    @Test("Each route that takes a URL takes the id that the list shows, and answers the same")
    func routes() async throws {
        try await serving { service, url, id in
            let page: PageDocument = try JSONText.read(from: try await service.control("GET", "/api/v1/resources").body)
            #expect(page.resources.map(\.id) == [id] && page.resources[0].added.seconds > 0)
            for target in ["resource", "explanation", "content", "audit"] {
                let byID = try await service.control("GET", "/api/v1/\(target)?id=\(id)")
                let byURL = try await service.control("GET", "/api/v1/\(target)?url=\(url.absoluteString)")
                #expect(byID.head.status == 200 && byID.body == byURL.body, "\(target)")
            }
            for (target, more) in Self.bodies {
                let answer = try await service.control("POST", "/api/v1/\(target)", body: #"{"id":"\#(id)"\#(more)}"#)
                #expect([200, 202].contains(answer.head.status), "\(target): \(answer.body)")
            }
            let (order, list) = (#"{"id":"\#(id)"}"#, #"{"resources":[{"id":"\#(id)"}]}"#)
            // After the shred, the vault has no such title.
            for (target, body, status) in [
                ("verifications", list, 200), ("shreds", list, 200), ("shreds", list, 404), ("reseals", list, 404),
                ("verifications", list, 404), ("removals", order, 404),
                ("modes", #"{"id":"\#(id)","mode":"default"}"#, 404),
            ] {
                let answer = try await service.control("POST", "/api/v1/\(target)", body: body)
                #expect(answer.head.status == status, "\(target)")
            }
        }
    }

    @Test("Exactly one of id and url names a resource; the error names the member")
    func members() async throws {
        try await serving { service, url, id in
            let both = #""id":"\#(id)","url":"\#(url.absoluteString)""#
            let other = #"{"id":"\#(id)","contentID":"a","mode":"default"}"#
            let foreign = #"{"id":"\#(id)","fields":[["Cookie","a"]],"mode":"default"}"#
            try await expect(404, "another user", service.control("POST", "/api/v1/modes", body: foreign), "modes")
            try await expect(404, "contentID", service.control("POST", "/api/v1/modes", body: other), "modes")
            for (members, says) in [("", "id nor url"), (both, "both id and url")] {
                for (target, more) in Self.bodies + [("removals", "")] {
                    let body = "{" + (members.isEmpty ? String(more.dropFirst()) : members + more) + "}"
                    try await expect(400, says, service.control("POST", "/api/v1/\(target)", body: body), target)
                }
                for target in Self.lists {
                    let body = #"{"resources":[{\#(members)}]}"#
                    try await expect(400, says, service.control("POST", "/api/v1/\(target)", body: body), target)
                }
            }
            for (body, member) in [
                (#"{"id":"film"}"#, "id"), (#"{"id":1}"#, "id"), (#"{"url":[]}"#, "url"),
                (#"{"url":"http://a.example/","fields":[["x"],5]}"#, "fields"),
            ] {
                try await expect(
                    400, "the body's \(member) ", service.control("POST", "/api/v1/modes", body: body), body)
            }
            try await expect(
                400, "lacks the member mode;", service.control("POST", "/api/v1/modes", body: #"{"id":"\#(id)"}"#),
                "modes")
            let query = "?id=\(id)&url=\(url.absoluteString)"
            for target in ["resource", "content", "explanation", "audit", "events"] {
                try await expect(400, "both id and url", service.control("GET", "/api/v1/\(target)\(query)"), target)
                try await expect(400, "id", service.control("GET", "/api/v1/\(target)?id=film"), target)
                try await expect(404, "aaaaaaaa", service.control("GET", "/api/v1/\(target)?id=aaaaaaaa"), target)
            }
            #expect(try await service.vault.titles.summary(of: url)?.isComplete == true)
        }
    }

    private func expect(
        _ status: Int, _ text: String, _ answer: (head: RawHead, body: [UInt8]), _ target: String
    ) async throws {
        let body = String(decoding: answer.body, as: UTF8.self)
        #expect(answer.head.status == status && body.contains(text), "\(target): \(answer.head.status) \(body)")
    }

    @Test("A client of the service names, pins and removes a title by its id, and gets its URL and content id")
    func client() async throws {
        try await serving { service, url, _ in
            let named = MediaReference(url, contentID: "film: 1")
            for try await _ in service.vault.download(named) {}
            let id = try #require(try await service.vault.titles.summary(of: named)?.id)
            let served = RemoteVault(ControlClient(folder: service.folder))
            let reference = try await served.reference(of: id, fields: HeaderFields())
            #expect(reference.url == url && reference.contentID == "film: 1")
            try await served.call(
                Operations.Titles.rename, TitleRequest(id, NameDetails(name: "A film")))
            try await served.call(Operations.Titles.pin, TitleDocument(id))
            let summary = try #require(try await served.resource(reference))
            #expect(summary.name == "A film" && summary.resourceClass == "pinned" && summary.contentID == "film: 1")
            try await served.call(
                Operations.Titles.remove, RemovalRequest(reference, RemovalDetails(links: nil)))
            let error = await #expect(throws: VaultError.self) {
                try await served.reference(of: id, fields: HeaderFields())
            }
            #expect(error?.code == .notHeld)
            #expect(try await service.vault.titles.summary(of: url)?.isComplete == true)
        }
    }
}
