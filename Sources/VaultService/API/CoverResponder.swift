import HTTPTypes
import Hummingbird
import MediaVault
import VaultModel

/// Answers requests for covers of titles.
struct CoverResponder: Sendable {
    let vault: Vault

    /// Returns or sets the cover of the title named in the path.
    func respond(to asked: APIRequest, _ request: Request, _ context: ServiceContext) async throws -> Response {
        if request.method == .put, let title = asked.pathID {
            if try await vault.queue.reference(ofQueued: title) == nil {
                // The title is looked up before the picture is read, so that a request for an unknown title fails
                // first.
                _ = try await asked.reference(in: vault)
            }
            let order: CoverDetails = try await asked.body(upTo: CoverDetails.maxBodyBytes)
            try await vault.titles.setCover(order.picture, ofQueued: title)
            return Response(try .json(EmptyDocument()), context: context)
        }
        let reference = try await asked.reference(in: vault)
        guard let cover = try await vault.titles.cover(of: reference) else {
            throw VaultError(
                .notHeld, "\(reference) has no cover: none was given, and none is in what is held of it; give one")
        }
        let headers = request.headers
        let conditions = Conditions(
            ifMatch: headers[values: .ifMatch], ifNoneMatch: headers[values: .ifNoneMatch],
            now: vault.now)
        return Response(
            CoverAnswer.answer(cover, conditions), isHead: request.method == .head, context: context)
    }
}

/// The answer that carries a title's cover.
///
/// A browser does not store the cover, and treats it only as a picture. If the cover is opened as a page, the browser
/// runs no scripts in it.
private enum CoverAnswer {
    /// Returns the answer that a request's conditions call for: the picture, 304 if the client already has it, or the
    /// error if a condition failed.
    static func answer(_ cover: Cover, _ conditions: Conditions) -> Answer {
        let tag = EntityTag(strong: cover.tag)
        var fields = HeaderFields([
            "ETag": tag.description, "Content-Security-Policy": "default-src 'none'; sandbox",
        ])
        switch conditions.verdict(on: tag, nil) {
        case .hold: return Answer(status: 200, type: cover.type.rawValue, body: cover.bytes, fields: fields)
        case .failed: return ErrorAnswer.failedCondition
        case .notModified:
            fields.append(ProtectiveFields.all)
            return Answer(bodiless: 304, fields)
        }
    }
}
