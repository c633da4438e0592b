/// Why a manifest cannot be led through the vault. It never contains text from the manifest.
package enum ManifestError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The bytes are something else, such as a web page: check the URL.
    case notAManifest
    case namesNothing
    /// The bytes are not UTF-8, or contain control characters. The line counts from 1.
    case notText(line: Int)
    /// The manifest, or all the URLs that it names together, have more bytes than this.
    case tooLarge(limit: Int)
    /// The manifest names more resources than this.
    case tooManyReferences(limit: Int)
    /// The XML has more elements than this.
    case tooManyElements(limit: Int)
    /// A line has more bytes than this.
    case lineTooLong(line: Int, limit: Int)
    /// The elements are nested deeper than this.
    case tooDeep(limit: Int)
    /// The XML has a `<!DOCTYPE`, which could define entities.
    case declaresDocumentType
    /// An element is to be fetched from elsewhere (`xlink:href`).
    case remoteElement
    /// Players would read this part differently, or not at all. The line counts from 1.
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
