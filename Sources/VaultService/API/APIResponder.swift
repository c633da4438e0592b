import HTTPTypes
import Hummingbird
import Logging
import MediaVault
import NIOCore
import VaultModel

/// Answers API requests from the port and the control socket after they have been authorised.
struct APIResponder: Sendable {
    let vault: LocalVault
    let downloads = DownloadRegistry()
    let tickets: Tickets
    let playbacks = Playbacks()
    let history = FigureHistory()
    let metrics: ServiceMetrics
    private let locking: LockHooks

    init(vault: Vault, metrics: ServiceMetrics, locking: LockHooks = LockHooks()) {
        self.locking = locking
        self.vault = LocalVault(vault)
        tickets = Tickets(of: vault.tokens)
        self.metrics = metrics
        vault.downloads.listenForForgetting { [weak downloads] in downloads?.forgetEnded(of: $0) }
    }

    func respond(to request: Request, about route: APIRoute, context: ServiceContext) async throws -> Response {
        let isHead = request.method == .head
        guard route.methods.contains(request.method.rawValue) else {
            return Response(
                ErrorAnswer.methodNotAllowed(route.methods.joined(separator: ", ")), isHead: isHead, context: context)
        }
        do {
            let (vault, access) = (vault.vault, context.access)
            let asked = APIRequest(request, about: route) {
                access.map { vault.tokens.isValid($0, now: vault.now) } ?? true
            }
            try await asked.check()
            return try await answer(asked, to: request, about: route, context)
        } catch is APIRequest.TokenEnded {
            return Response(ErrorAnswer.unauthorized(isGiven: true), isHead: isHead, context: context)
        } catch let error as VaultError {
            context.failed(error)
            let told = context.viewer == nil ? error : error.withoutOrigin
            return Response(ErrorAnswer.answer(APIProblem.document(told)), isHead: isHead, context: context)
        }
    }

    private func answer(
        _ asked: APIRequest, to request: Request, about route: APIRoute, _ context: ServiceContext
    ) async throws -> Response {
        func json(_ document: some Encodable, status: Int = 200) throws -> Response {
            Response(try .json(document, status: status), isHead: request.method == .head, context: context)
        }
        guard !vault.vault.isDestroyed || route == .openAPI else { throw VaultError.vaultDestroyed }
        guard !vault.vault.isLocked || [.locks, .openAPI].contains(route) else { throw VaultError.vaultLocked }
        if let viewer = context.viewer,
            let response = try await answer(viewer, asked, to: request, about: route, context)
        {
            return response
        }
        switch route {
        case .status: return try json(try await vault.status())
        case .history: return try json(HistoryDocument(every: FigureHistory.every, samples: history.samples))
        case .playbacks: return try json(try await showPlaybacks())
        case .readiness: return try json(try await vault.readiness(asked.readiness))
        case .resources:
            return try json(
                try await vault.resources(after: asked["after"], limit: asked.number("limit"), asked.selection))
        case .resourceByID where request.method == .delete:
            let links = try asked.flag("links")
            return try json(try await vault.remove(asked.reference(in: vault.vault), links: links))
        case .resource, .resourceByID: return try json(try await resource(asked.reference(in: vault.vault)))
        case .content, .contentByID:
            let now = vault.vault.now
            let reference = try await PlayableReferences(vault.vault, context).reference(of: asked.document())
            return try await MediaResponder(
                vault: vault.vault, reference: reference, context: context, arrival: .now, now: now
            ).respond(to: MediaRequest(request.method == .head ? .head : .get, request.headers, now: now))
        case .explanation, .explanationByID: return try json(try await explanation(asked.reference(in: vault.vault)))
        case .imports: return try json(try await importFile(request, context))
        case .removals:
            let order: RemovalRequest = try await asked.body()
            let reference = try await order.reference.reference(in: vault.vault)
            return try json(try await vault.remove(reference, links: order.details.links ?? false))
        case .pins:
            try await vault.pin(asked.body(ReferenceDocument.self).reference(in: vault.vault))
            return try json(EmptyDocument())
        case .unpins:
            try await vault.unpin(asked.body(ReferenceDocument.self).reference(in: vault.vault))
            return try json(EmptyDocument())
        case .modes:
            let order: ModeRequest = try await asked.body()
            try await vault.setMode(NamedMode(order.details.mode).mode, of: order.reference.reference(in: vault.vault))
            return try json(EmptyDocument())
        case .names:
            let order: NameRequest = try await asked.body()
            try await vault.setName(order.details.name, of: order.reference.reference(in: vault.vault))
            return try json(EmptyDocument())
        case .pinByID, .nameByID, .modeByID:
            try await change(asked, route, isSet: request.method == .put)
            return try json(EmptyDocument())
        case .evictions:
            let forecast = try await vault.vault.evictionForecast(limit: asked.number("limit") ?? 20)
            return try json(EvictionsDocument(forecast))
        case .coverByID: return try await cover(asked, request, context)
        case .prunes: return try json(try await vault.prune(asked.body()))
        case .verifications: return try await verification(asked.body(), context)
        case .revocations:
            try await vault.revokeLinks()
            return try json(EmptyDocument())
        case .reseals: return try await reseal(asked.body(), context)
        case .shreds:
            let order: ShredRequest = try await asked.body()
            return try json(
                try await vault.shred(
                    order.references(in: vault.vault), quick: order.quick ?? false, links: order.links ?? false))
        case .audit:
            guard asked.namesResource else { return try json(try await vault.audit()) }
            return try json(try await vault.vault.keys.audit(about: [asked.reference(in: vault.vault)]))
        case .destructions:
            let order: DestructionRequest = try await asked.body()
            return try json(try await vault.destroy(vaultID: order.vault))
        case .keyring:
            if request.method == .post {
                try await vault.carryOut(asked.body())
                return try json(EmptyDocument())
            }
            return try json(try await vault.keyring())
        case .locks:
            let wasLocked = vault.vault.isLocked
            locking.begin()
            try await vault.lock()
            downloads.forgetAll()
            playbacks.forgetAll()
            await locking.end()
            if !wasLocked { context.logger.notice("the vault was locked: its keys are wiped from memory") }
            return try json(EmptyDocument())
        case .keys: return try json(try await vault.keys())
        case .rotations: return try json(try await rotation(asked.body(), context))
        case .rewraps: return events(context) { [vault] tell in try await vault.rewrap { tell($0) } }
        case .retirements:
            let order: RetirementRequest = try await asked.body()
            return try json(try await vault.retire(order.generation))
        case .settings: return try json(try await settings(asked, isChange: request.method == .patch, context))
        case .links, .tokens: return try await grants(asked, route, request, context)
        case .tickets: return try json(try await createTicket(asked, request, context))
        case .sessions, .session: return try await sessions(asked, route, request, context)
        case .downloads:
            switch request.method {
            case .post: return try await post(asked.body(), context)
            case .patch:
                let change: DownloadChange = try await asked.body()
                return try json(try await vault.changeDownloads(change.act, of: change.selection))
            case .delete: return try json(try await endDownload(asked))
            default: return try json(try await listDownloads(asked))
            }
        case .subscriptions: return try await subscriptions(asked, request, context)
        case .viewers: return try await viewers(asked, request, context)
        case .shares: return try await shares(asked, request, context)
        case .positions: return try json(try await positions(context))
        case .positionByID:
            try await setPosition(asked, context)
            return try json(EmptyDocument())
        case .syncs: return try await sync(asked, context)
        case .events: return try await feed(asked, context)
        case .openAPI:
            let file = Answer(status: 200, type: "application/json", body: PackageResources.openapi_json)
            return Response(file, isHead: request.method == .head, context: context)
        }
    }

    /// Sets or removes the pin, the name or the mode of the resource named in the path.
    private func change(_ asked: APIRequest, _ route: APIRoute, isSet: Bool) async throws {
        switch route {
        case .nameByID:
            let name = isSet ? try await asked.body(NameDetails.self).name : ""
            try await vault.setName(name, of: asked.reference(in: vault.vault))
        case .modeByID:
            let mode = isSet ? try await NamedMode(asked.body(ModeDetails.self).mode).mode : nil
            try await vault.setMode(mode, of: asked.reference(in: vault.vault))
        default:
            let reference = try await asked.reference(in: vault.vault)
            if isSet { try await vault.pin(reference) } else { try await vault.unpin(reference) }
        }
    }

    /// Returns the settings, after first applying the change in the body if the request is a change.
    private func settings(
        _ asked: APIRequest, isChange: Bool, _ context: ServiceContext
    ) async throws -> SettingsDocument {
        let settings: SettingsDocument
        if isChange {
            let change: SettingsChange = try await asked.body()
            // A token must not let a client run programs as the service's user.
            guard context.isControl || !change.changesPrograms else {
                throw VaultError(
                    .invalidArgument,
                    "notifyCommand and refreshCommand can be set only through the control socket, on the service's "
                        + "machine")
            }
            settings = try await vault.change(change)
        } else {
            settings = try await vault.settings()
        }
        return context.isControl ? settings : settings.withoutPrograms
    }

    /// Runs a verification alongside playback, and reports its progress.
    private func verification(_ order: VerificationRequest, _ context: ServiceContext) async throws -> Response {
        // Invalid options are refused here, before the answer begins.
        try order.options.check(isOwner: true)
        let references = try await order.references(in: vault.vault)
        return events(context) { [vault] tell in
            try await vault.verify(order.options, of: references) { tell($0) }
        }
    }

    /// Runs a reseal alongside playback, and reports its progress.
    private func reseal(_ order: ResealRequest, _ context: ServiceContext) async throws -> Response {
        let references = try await order.references(in: vault.vault)
        return events(context) { [vault] tell in
            try await vault.reseal(references, bytesPerSecond: order.limitRate) { tell($0) }
        }
    }

    private func resource(_ reference: MediaReference) async throws -> ResourceSummary {
        guard let document = try await vault.resource(reference) else { throw Self.unknown(reference) }
        return document
    }

    private static func unknown(_ reference: MediaReference) -> VaultError {
        VaultError(.notHeld, "the vault has no record of \(reference); fetch it first")
    }

    private func explanation(_ reference: MediaReference) async throws -> ExplanationDocument {
        let answers = try await vault.vault.lastAnswers(of: reference)
        let summary = try await vault.vault.summary(of: reference)
        guard summary != nil || !answers.isEmpty else { throw Self.unknown(reference) }
        return ExplanationDocument(summary, url: reference.url.absoluteString, answers: answers)
    }

    private func feed(_ asked: APIRequest, _ context: ServiceContext) async throws -> Response {
        let only = asked.namesResource ? try await vault.vault.id(of: asked.reference(in: vault.vault)) : nil
        let feed = EventFeed(
            vault: vault.vault, downloads: downloads, only: only, access: context.access, era: context.era,
            viewer: context.viewer, channel: context.channel)
        return Response(feed, context: context)
    }

    func events<Progress: Codable & Sendable, Outcome: Codable & Sendable>(
        _ context: ServiceContext, _ act: @escaping EventStream<Progress, Outcome>.Act
    ) -> Response {
        let stream = EventStream<Progress, Outcome>(watch: DisconnectWatch(context.channel)) { tell in
            do {
                return try await act(tell)
            } catch let error as VaultError {
                context.failed(error)
                throw error
            }
        }
        return Response(stream, context: context)
    }
}

// The key lifecycle.
extension APIResponder {
    func rotation(_ order: RotationRequest, _ context: ServiceContext) async throws -> KeysDocument {
        try order.check()
        if order.locator == true { return try await vault.changeLocator() }
        guard order.root == true else { return try await vault.rotate() }
        // A token must not let a client read files as the service's user.
        guard context.isControl else {
            throw VaultError(
                .invalidArgument,
                "the root key can be replaced only through the control socket, on the service's machine",
                hint: .rotateRootLocally)
        }
        return try await vault.rotateRoot(
            unlockedBy: (order.slots ?? []).map { try $0.key }, droppingOtherSlots: order.dropSlots ?? false)
    }
}
