import MediaVault
import VaultModel

/// The answer with the cover of a title.
///
/// A browser neither keeps it nor takes it for anything but a picture; opened as a page, it runs nothing.
enum CoverAnswer {
    /// Returns the answer under the conditions of a request: the picture, or that the client has it already.
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
