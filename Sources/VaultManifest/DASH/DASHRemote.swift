/// Handles elements whose content an MPD leaves to another document (`xlink:href`, ISO/IEC 23009-1 §5.5).
///
/// The other document is never fetched, because it would become part of the manifest unchecked. An element that
/// resolves to nothing is left out. An element with content of its own is read without its link, as it is by players
/// that do not know links.
enum DASHRemote {
    /// Returns an MPD without links to other documents.
    ///
    /// - Throws: ``ManifestError/remoteElement`` if an element has only a link and no content of its own.
    static func resolved(_ root: MarkupElement) throws(ManifestError) -> MarkupElement {
        containsLink(root) ? try withoutLinks(root) : root
    }

    private static func withoutLinks(_ element: MarkupElement) throws(ManifestError) -> MarkupElement {
        var result = element
        if element.attributes.contains(where: isLink) {
            guard hasContent(element) else { throw .remoteElement }
            result.removeAttributes { isLink($0) || isTrigger($0) }
        }
        result.children = []
        for node in element.children {
            guard let child = node.element else {
                result.children.append(node)
                continue
            }
            if !resolvesToNothing(child) { result.children.append(.element(try withoutLinks(child))) }
        }
        return result
    }

    private static func containsLink(_ element: MarkupElement) -> Bool {
        element.attributes.contains(where: isLink) || element.elements.contains(where: containsLink)
    }

    private static func isLink(_ attribute: MarkupAttribute) -> Bool {
        attribute.localName == "href" && attribute.name != "href"
    }

    /// Returns whether an attribute states when the link is to be followed.
    private static func isTrigger(_ attribute: MarkupAttribute) -> Bool {
        attribute.localName == "actuate" && attribute.name != "actuate"
    }

    private static func resolvesToNothing(_ element: MarkupElement) -> Bool {
        element.attributes.contains { isLink($0) && $0.value.trimmingSpace() == "urn:mpeg:dash:resolve-to-zero:2013" }
    }

    /// Returns whether an element already contains what a player needs from it.
    private static func hasContent(_ element: MarkupElement) -> Bool {
        switch element.localName {
        case "Period": element.first("AdaptationSet") != nil
        case "AdaptationSet": element.first("Representation") != nil
        case "SegmentList": element.first("SegmentURL") != nil
        default: element.elements.contains { _ in true }
        }
    }
}
