import HTTPTypes
import Hummingbird
import Logging
import MediaVault
import NIOCore
import VaultModel

/// Answers API requests from the port and the control socket after they have been authorized.
struct APIResponder: Sendable {
    let vault: LocalVault
    let tickets: Tickets
    let playbacks = Playbacks()
    let metrics: ServiceMetrics
    let activity: ActivityResponder
    let monitoring: MonitoringResponder
    private let covers: CoverResponder
    private let downloads: DownloadResponder
    private let imports: ImportResponder
    private let links: LinkResponder
    private let sessions: SessionResponder
    private let log: LogMemory
    private let locking: LockHooks

    init(
        vault: Vault, metrics: ServiceMetrics, log: LogMemory = LogMemory(), locking: LockHooks = LockHooks()
    ) {
        (self.log, self.locking) = (log, locking)
        self.vault = LocalVault(vault)
        tickets = Tickets(of: vault.tokens)
        self.metrics = metrics
        activity = ActivityResponder(vault: vault, playbacks: playbacks, metrics: metrics)
        monitoring = MonitoringResponder(vault: vault, metrics: metrics)
        covers = CoverResponder(vault: vault)
        downloads = DownloadResponder(vault: self.vault)
        imports = ImportResponder(vault: vault)
        links = LinkResponder(vault: self.vault)
        sessions = SessionResponder(vault: vault, tickets: tickets)
    }

    func respond(to request: Request, about route: APIRoute, context: ServiceContext) async throws -> Response {
        let isHead = request.method == .head
        guard let endpoint = route.endpoint(for: request.method.rawValue) else {
            return Response(
                ErrorAnswer.methodNotAllowed(route.methods.joined(separator: ", ")), isHead: isHead, context: context)
        }
        do {
            let (vault, access) = (vault.vault, context.access)
            let asked = APIRequest(request, to: endpoint) {
                access.map { vault.tokens.isValid($0, now: vault.now) } ?? true
            }
            try await asked.check()
            return try await answer(asked, to: request, context)
        } catch is APIRequest.TokenEnded {
            return Response(ErrorAnswer.unauthorized(isGiven: true), isHead: isHead, context: context)
        } catch let error as VaultError {
            context.failed(error)
            let told = context.viewer == nil ? error : error.withoutOrigin
            return Response(ErrorAnswer.answer(APIProblem.document(told)), isHead: isHead, context: context)
        }
    }

    private func answer(_ asked: APIRequest, to request: Request, _ context: ServiceContext) async throws -> Response {
        func json(_ document: some Encodable, status: Int = 200) throws -> Response {
            Response(try .json(document, status: status), isHead: request.method == .head, context: context)
        }
        let route = asked.endpoint.route
        // Also the request that destroys the vault leaves nothing of it in memory.
        defer { if vault.vault.isDestroyed { vault.kept.forget() } }
        guard !vault.vault.isDestroyed || route == .openAPI else { throw VaultError.vaultDestroyed }
        guard !vault.vault.isLocked || [.locks, .openAPI].contains(route) else { throw VaultError.vaultLocked }
        if let viewer = context.viewer {
            let responder = ViewerResponder(titles: SharedTitles(vault: vault.vault, viewer: viewer, kept: vault.kept))
            if let response = try await responder.respond(to: asked, request, context) { return response }
        }
        if let operation = Operations.find(asked.endpoint) {
            return try await operation.run(
                by: OperationResponder(vault: vault.vault, asked: asked, request: request, context: context))
        }
        switch route {
        case .history: return try json(activity.showHistory())
        case .log: return try json(LogDocument(version: Vault.version, lines: log.last))
        case .playbacks: return try json(try await activity.showPlaybacks())
        case .resources:
            return try json(
                try await vault.resources(after: asked["after"], limit: asked.number("limit"), asked.selection))
        case .resource, .resourceByID: return try json(try await resource(asked.reference(in: vault.vault)))
        case .content, .contentByID:
            let now = vault.vault.now
            let reference = try await PlayableReferences(vault.vault, context).reference(of: asked.document())
            return try await MediaResponder(
                vault: vault.vault, reference: reference, context: context, arrival: .now, now: now
            ).respond(to: MediaRequest(request.method == .head ? .head : .get, request.headers, now: now))
        case .explanation, .explanationByID: return try json(try await explanation(asked.reference(in: vault.vault)))
        case .imports: return try json(try await imports.importFile(request, context))
        case .coverByID: return try await covers.respond(to: asked, request, context)
        case .subtitlesByID:
            return Response(try await subtitles(asked), isHead: request.method == .head, context: context)
        case .locks:
            let wasLocked = vault.vault.isLocked
            locking.begin()
            try await vault.lock()
            downloads.registry.forgetAll()
            playbacks.forgetAll()
            await locking.end()
            if !wasLocked { context.logger.notice("the vault was locked: its keys are wiped from memory") }
            return try json(EmptyDocument())
        case .links: return try json(try await links.createLinks(asked.body(), context))
        case .tickets: return try json(try await sessions.createTicket(asked, request, context))
        case .sessions, .session: return try await sessions.respond(to: asked, request, context)
        case .downloads: return try await downloads.respond(to: asked, request, context)
        case .events: return try await feed(asked, context)
        case .openAPI:
            let file = Answer(status: 200, type: "application/json", body: PackageResources.openapi_json)
            return Response(file, isHead: request.method == .head, context: context)
        default:
            // A route that is listed but not answered here is a fault of this program, which a test looks for.
            throw VaultError(.closed, "the service does not answer this request")
        }
    }

    private func resource(_ reference: MediaReference) async throws -> ResourceSummary {
        guard let document = try await vault.resource(reference) else { throw Self.unknown(reference) }
        return document
    }

    /// Returns the subtitles that were added to a title. If they are opened as a page, the browser runs nothing in them.
    private func subtitles(_ asked: APIRequest) async throws -> Answer {
        let language = try SubtitleSelection(language: asked["language"]).named
        let reference = try await asked.reference(in: vault.vault)
        guard let text = try await vault.vault.titles.subtitles(in: language, of: reference) else {
            throw VaultError(.notHeld, "\(reference) has no added subtitles in this language")
        }
        return Answer(
            status: 200, type: "text/vtt; charset=utf-8", body: text,
            fields: HeaderFields(["Content-Security-Policy": "default-src 'none'; sandbox"]))
    }

    private static func unknown(_ reference: MediaReference) -> VaultError {
        VaultError(.notHeld, "the vault has no record of \(reference); fetch it first")
    }

    private func explanation(_ reference: MediaReference) async throws -> ExplanationDocument {
        let answers = try await vault.vault.titles.lastAnswers(of: reference)
        let summary = try await vault.vault.titles.summary(of: reference)
        guard summary != nil || !answers.isEmpty else { throw Self.unknown(reference) }
        return ExplanationDocument(summary, url: reference.url.absoluteString, answers: answers)
    }

    private func feed(_ asked: APIRequest, _ context: ServiceContext) async throws -> Response {
        let only = asked.namesResource ? try await vault.vault.titles.id(of: asked.reference(in: vault.vault)) : nil
        let feed = EventFeed(
            vault: vault.vault, downloads: downloads.registry, only: only, access: context.access, era: context.era,
            viewer: context.viewer, channel: context.channel)
        return Response(feed, context: context)
    }
}
