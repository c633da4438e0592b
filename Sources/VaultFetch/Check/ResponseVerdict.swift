/// Which representation an answer belongs to, and what it carries.
package enum ResponseVerdict: Hashable, Sendable {
    /// The known representation; any, where none was known.
    case current(ResponseContent)
    /// Another one than is known: its bytes may be used, but never beside those of the known one.
    case changed(ResponseContent)

    /// What the answer carries, of whichever representation.
    package var content: ResponseContent {
        switch self {
        case .current(let content), .changed(let content): content
        }
    }
}
