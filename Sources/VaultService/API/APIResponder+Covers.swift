import HTTPTypes
import Hummingbird
import MediaVault
import VaultModel

// Covers of titles.
extension APIResponder {
    /// Returns, sets or removes the cover of the title named in the path.
    func cover(_ asked: APIRequest, _ request: Request, _ context: ServiceContext) async throws -> Response {
        if request.method == .put, let title = asked.pathID {
            if try await vault.vault.downloads.reference(ofQueued: title) == nil {
                // If no such title exists, the picture does not matter.
                _ = try await asked.reference(in: vault.vault)
            }
            let order: CoverDetails = try await asked.body(upTo: CoverDetails.maxBodyBytes)
            try await vault.setCover(order.picture, ofQueued: title)
            return Response(try .json(EmptyDocument()), context: context)
        }
        let reference = try await asked.reference(in: vault.vault)
        switch request.method {
        case .delete:
            try await vault.setCover(nil, of: reference)
            return Response(try .json(EmptyDocument()), context: context)
        default:
            guard let cover = try await vault.vault.cover(of: reference) else {
                throw VaultError(
                    .notHeld, "\(reference) has no cover: none was given, and none is in what is held of it; give one")
            }
            let headers = request.headers
            let conditions = Conditions(
                ifMatch: headers[values: .ifMatch], ifNoneMatch: headers[values: .ifNoneMatch],
                now: vault.vault.now)
            return Response(
                CoverAnswer.answer(cover, conditions), isHead: request.method == .head, context: context)
        }
    }
}

/// The answer with the cover of a title.
///
/// A browser does not keep the cover, and treats it only as a picture; opened as a page, it runs no scripts.
private enum CoverAnswer {
    /// Returns the answer under a request's conditions: the picture, or that the client already has it.
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
