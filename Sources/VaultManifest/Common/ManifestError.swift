/// The reason why a manifest cannot be routed through the vault. It never contains text from the manifest.
package enum ManifestError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The bytes are something else, such as a web page. The URL may be wrong.
    case notAManifest
    case namesNothing
    /// The bytes are not UTF-8, or contain control characters. Lines are counted from 1.
    case notText(line: Int)
    /// The manifest, or the URLs that it names taken together, exceed this number of bytes.
    case tooLarge(limit: Int)
    /// The manifest names more than this number of resources.
    case tooManyReferences(limit: Int)
    /// The XML has more than this number of elements.
    case tooManyElements(limit: Int)
    /// A line has more than this number of bytes.
    case lineTooLong(line: Int, limit: Int)
    /// Elements are nested more deeply than this.
    case tooDeep(limit: Int)
    /// The XML has a `<!DOCTYPE`, which could define entities.
    case declaresDocumentType
    /// An element's content is in another document (`xlink:href`).
    case remoteElement
    /// Players would read this part in different ways, or not at all. Lines are counted from 1.
    case malformed(line: Int, Part)

    /// A part of a manifest that can be malformed.
    package enum Part: String, Hashable, Sendable {
        case attributes = "attribute list"
        case byteRange = "byte range"
        case definition = "definition of a variable"
        case lineSeparator = "line separator"
        case element = "element"
        case template = "segment template"
        case timeline = "segment timeline"
        case number = "number"
    }

    /// The reason, in plain English.
    package var description: String {
        switch self {
        case .notAManifest: "it is neither a playlist nor a manifest"
        case .namesNothing: "it names nothing to play"
        case .notText(let line): "line \(line) is not UTF-8 text"
        case .tooLarge(let limit): "it is larger than \(limit) bytes, with what it names"
        case .tooManyReferences(let limit): "it names more than \(limit) resources"
        case .tooManyElements(let limit): "it has more than \(limit) elements"
        case .lineTooLong(let line, let limit): "line \(line) is longer than \(limit) bytes"
        case .tooDeep(let limit): "its elements are nested more than \(limit) deep"
        case .declaresDocumentType: "it declares a document type, which is not allowed"
        case .remoteElement: "an element is to be fetched from elsewhere, which is not supported"
        case .malformed(let line, let part): "line \(line) has a malformed \(part.rawValue)"
        }
    }
}
