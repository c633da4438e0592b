import Foundation
import VaultModel

#if canImport(FoundationXML)
import FoundationXML
#endif

/// Parses an XML document with Foundation.
///
/// The parser calls this object on the thread that started it, and only until `parse()` returns.
final class MarkupReader: NSObject, XMLParserDelegate {
    private var root: MarkupElement?
    /// The open elements, outermost first.
    private var open: [MarkupElement] = []
    /// The text since the last tag, collected here because the parser reports one text in many pieces.
    private var text = ""
    private var failure: ManifestError?

    /// The libxml2 errors that players tolerate: an unknown version, a namespace that is not a URI, a relative
    /// namespace URI, and an undeclared prefix.
    private static let accepted: Set<Int> = [97, 99, 100, 201]

    /// Parses a document.
    ///
    /// - Throws: ``ManifestError`` if the document is malformed, or if ``MarkupCheck`` refuses to have it parsed.
    static func read(_ bytes: [UInt8], limits: ManifestLimits) throws(ManifestError) -> MarkupElement {
        let document = try MarkupCheck.document(in: bytes, limits: limits)
        let reader = MarkupReader()
        // The document is passed as a stream, because the parser refuses long documents in one piece.
        let parser = XMLParser(stream: InputStream(data: Data(document)))
        parser.shouldProcessNamespaces = false
        parser.shouldResolveExternalEntities = false
        parser.externalEntityResolvingPolicy = .never
        parser.delegate = reader
        // On Linux, `parse()` returns true even for some malformed documents, so only reported errors count.
        _ = parser.parse()
        if let failure = reader.failure { throw failure }
        guard let root = reader.root, reader.open.isEmpty else { throw .notAManifest }
        return root
    }

    private func flushText() {
        guard !text.isEmpty else { return }
        if !open.isEmpty { open[open.count - 1].children.append(.text(text)) }
        text = ""
    }

    // MARK: XMLParserDelegate

    func parser(
        _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
        attributes: [String: String]
    ) {
        flushText()
        open.append(MarkupElement(name: name, attributes: attributes, line: parser.lineNumber))
    }

    func parser(_ parser: XMLParser, didEndElement name: String, namespaceURI: String?, qualifiedName: String?) {
        flushText()
        guard let element = open.popLast() else { return }
        if open.isEmpty { root = element } else { open[open.count - 1].children.append(.element(element)) }
    }

    func parser(_ parser: XMLParser, foundCharacters piece: String) { text += piece }

    func parser(_ parser: XMLParser, foundCDATA block: Data) { text += String(decoding: block, as: UTF8.self) }

    func parser(_ parser: XMLParser, parseErrorOccurred error: any Error) {
        guard failure == nil, !Self.accepted.contains((error as NSError).code) else { return }
        failure = .malformed(line: max(1, parser.lineNumber), .element)
        parser.abortParsing()
    }
}
