package import MediaVault
import NIOCore
import NIOHTTP1
import VaultModel

/// A vault that a service owns. It is reached through the service's control socket, without a key.
package final class RemoteVault: VaultClient {
    private let client: ControlClient
    /// Whether the service has answered a request before.
    private let isKnown = Locked(false)

    package init(_ client: ControlClient) { self.client = client }

    @discardableResult
    package func call<Input, Output>(_ operation: Operation<Input, Output>, _ input: Input) async throws -> Output {
        try await document(ControlRequest(operation.endpoint, input))
    }

    @discardableResult
    package func follow<Input, Progress, Output>(
        _ operation: LongOperation<Input, Progress, Output>, _ input: Input,
        _ progress: (Progress) async throws -> Void
    ) async throws -> Output {
        try await events(ControlRequest(operation.endpoint, input), progress)
    }

    package func resources(after: String?, limit: Int?) async throws -> PageDocument {
        try await document(ControlRequest(.GET, .resources, ["after": after, "limit": limit.map(String.init)]))
    }

    package func reference(of id: TitleID, fields: HeaderFields) async throws -> MediaReference {
        let summary: ResourceSummary = try await document(
            ControlRequest(.GET, .resource, ["id": id.description]))
        var reference = MediaReference(id, url: try MediaURL(summary.url), contentID: summary.contentID)
        reference.fields = fields
        return reference
    }

    package func resource(_ reference: MediaReference) async throws -> ResourceSummary? {
        do {
            return try await document(ControlRequest(.resource, reference: reference))
        } catch let error as VaultError where error.code == .notHeld {
            return nil
        }
    }

    package func download(
        _ reference: MediaReference, _ options: DownloadOptions, progress: (DownloadProgress) async throws -> Void
    ) async throws {
        let order = DownloadRequest(reference, DownloadDetails(options, isDetached: false))
        let _: EmptyDocument = try await events(ControlRequest(.POST, .downloads, body: order), progress)
    }

    /// Sends a request, and returns the document in the answer.
    func document<Document: Decodable>(_ request: ControlRequest) async throws -> Document {
        try await ask(request) { answer in try JSONText.read(from: try await answer.whole()) }
    }

    /// Follows a long operation, and returns the result in the last line of its answer.
    func events<Progress: Codable & Sendable, Outcome: Codable & Sendable>(
        _ request: ControlRequest, _ progress: (Progress) async throws -> Void
    ) async throws -> Outcome {
        try await ask(request) { answer in
            while let line = try await answer.line() {
                switch try JSONText.read(EventDocument<Progress, Outcome>.self, from: line) {
                case .progress(let step): try await progress(step)
                case .done(let outcome): return outcome
                case .problem(let problem): throw Self.error(problem)
                }
            }
            throw Self.strange
        }
    }

    /// Sends a request, and passes the answer to `read` unless it is a problem, which is thrown.
    func ask<Value>(
        _ request: ControlRequest, _ read: (inout ControlAnswer) async throws -> Value
    ) async throws -> Value {
        do {
            return try await client.ask(request) { answer in
                isKnown.withLock { $0 = true }
                guard answer.head.status.code < 300 else {
                    throw Self.error(try JSONText.read(from: try await answer.whole()))
                }
                return try await read(&answer)
            }
        } catch is DecodingError {
            throw Self.strange
        } catch is ServiceGone where isKnown.withLock(\.self) {
            throw VaultError(.closed, "the service has ended; try again to continue without it")
        }
    }

    /// Sends a request with a long body, and returns the document in the answer unless it is a problem, which is
    /// thrown.
    func upload<Document: Decodable>(
        _ request: ControlRequest, _ next: @escaping @Sendable () async throws -> [UInt8]?
    ) async throws -> Document {
        do {
            let answer = try await client.upload(request, next)
            guard answer.status.code < 300 else { throw Self.error(try JSONText.read(from: answer.body)) }
            return try JSONText.read(from: answer.body)
        } catch is DecodingError {
            throw Self.strange
        }
    }

    /// The error thrown if the service is only a reader of the vault.
    private static let readOnlyService = VaultError(
        .owned,
        "the running service only reads the vault, because it was started with --read-only, or the disk was full or "
            + "read-only when it started; mend that, then restart it")

    private static func error(_ problem: ProblemDocument) -> VaultError {
        guard problem.error?.code != .owned else { return readOnlyService }
        return problem.error
            ?? VaultError(.closed, "the service refused the request: \(problem.detail ?? problem.title)")
    }

    private static let strange = VaultError(
        .closed,
        "the service's answer cannot be understood; it may be another version, so restart the service")
}

// The download queue.
extension RemoteVault {
    /// The maximum number of downloads per request, and the number of bytes beyond which no more are added to a
    /// request.
    private static let (most, bytes) = (500, 512 << 10)

    package func queue(
        _ downloads: [(reference: MediaReference, options: DownloadOptions)], first: Bool
    ) async throws -> [DownloadDocument] {
        var queued: [DownloadDocument] = []
        var batches: [[DownloadRequest]] = []
        var size = 0
        for (reference, options) in downloads {
            let order = DownloadRequest(reference, DownloadDetails(options, isDetached: false))
            if batches.isEmpty || size > Self.bytes || batches[batches.count - 1].count == Self.most {
                batches.append([])
                size = 0
            }
            batches[batches.count - 1].append(order)
            size += try JSONText.bytes(of: order).count
        }
        // Batches that are to run first are queued in reverse, because each batch is placed before the previous one.
        for batch in first ? batches.reversed() : batches {
            let answer: QueuedDocument
            do {
                answer = try await document(
                    ControlRequest(.POST, .downloads, body: DownloadBatch(downloads: batch, first: first ? true : nil)))
            } catch var error as VaultError where !queued.isEmpty {
                error.message =
                    "only \(queued.count) of \(downloads.count) titles were queued; queue the others again: "
                    + error.message
                throw error
            }
            queued = first ? answer.downloads + queued : queued + answer.downloads
        }
        return queued
    }

    package func downloads(after: String?, limit: Int?) async throws -> DownloadsDocument {
        try await document(ControlRequest(.GET, .downloads, ["after": after, "limit": limit.map(String.init)]))
    }
}

// Covers, playback links, and the keys.
extension RemoteVault {
    package func setCover(_ picture: [UInt8], ofQueued title: TitleID) async throws {
        let body = try JSONText.bytes(of: CoverDetails(picture))
        let _: EmptyDocument = try await document(ControlRequest(.PUT, .coverByID, of: title, body: body))
    }

    package func lock() async throws {
        let _: EmptyDocument = try await document(ControlRequest(.POST, .locks))
    }

    package func createLinks(to references: [MediaReference], _ details: LinkDetails) async throws -> LinkDocument {
        try await document(ControlRequest(.POST, .links, body: LinkOrder(references, details)))
    }

    /// Creates a ticket, with which a browser can begin one session within a minute.
    ///
    /// - Parameter viewer: the id of the viewer whose session begins; nil for the owner.
    package func createSessionTicket(for viewer: String? = nil) async throws -> TicketDocument {
        try await document(ControlRequest(.POST, .tickets, body: TicketOrder(use: .session, viewer: viewer)))
    }

    package func rotateRoot(unlockedBy keys: [SlotKey], droppingOtherSlots: Bool) async throws -> KeysDocument {
        let slots = try keys.map { try SlotDocument($0) }
        return try await call(
            Operations.Keys.rotate, RotationRequest(slots: slots, dropSlots: droppingOtherSlots))
    }
}

extension RemoteVault {
    package func read(
        _ reference: MediaReference, _ range: RequestedRange, to take: (ArraySlice<UInt8>) async throws -> Void
    ) async throws {
        var reading = RangeReassembly(range)
        while !reading.isDone {
            let request = try ControlRequest(.content, reference: reference, fields: reading.fields)
            try await ask(request) { answer in
                try reading.begin(answer.head)
                do {
                    while let bytes = try await answer.next() {
                        try await take(reading.cut(Array(bytes.readableBytesView)))
                    }
                    try reading.finish()
                } catch let brokenOff as VaultError where brokenOff.code == .closed && reading.hasAdvanced {
                    // The next request names the rest. Its answer continues, or reports the reason.
                }
            }
        }
    }
}

extension RemoteVault {
    /// Returns the sources of the bytes in the service's most recent answers.
    package func explanation(_ reference: MediaReference) async throws -> ExplanationDocument {
        try await document(ControlRequest(.explanation, reference: reference))
    }
}
