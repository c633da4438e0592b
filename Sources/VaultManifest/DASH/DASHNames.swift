import VaultModel

/// Recognizes names that players read differently. Each player sees the elements and attributes as its XML library
/// reports them.
///
/// ffmpeg ignores the case of element names. libxml2 finds an attribute by its name without its prefix. tXml, which
/// reads manifests in Shaka Player and dash.js, skips any characters other than letters at the start of an attribute's
/// name.
enum DASHNames {
    /// The elements that contain a URL, or that determine where one leads.
    private static let elements: Set<Substring> = DASHWalk.levelNames.union(once).union([
        "BaseURL", "ClientDataReporting", "ContentSteering", "EssentialProperty", "EventStream", "ImportedMPD",
        "InbandEventStream", "InitializationSet", "Location", "Metrics", "PatchLocation", "ProgramInformation",
        "Reporting", "SegmentURL", "SupplementalProperty", "UTCTiming",
    ])

    private static let spellings = Dictionary(uniqueKeysWithValues: elements.map { ($0.lowercased(), $0) })

    /// The elements that must not be repeated within one parent, because some players take the first and others the
    /// last.
    static let once: Set<Substring> = [
        "BitstreamSwitching", "Initialization", "RepresentationIndex", "SegmentBase", "SegmentList", "SegmentTemplate",
        "SegmentTimeline",
    ]

    /// The attributes that are URLs, or from which URLs are built.
    private static let attributes: Set<Substring> = [
        "bandwidth", "base", "bitstreamSwitching", "byteRange", "id", "index", "initialization", "media",
        "moreInformationURL", "schemeIdUri", "sourceURL", "value",
    ]

    /// Returns whether an element's name differs from a DASH name only in case.
    static func isMisspelled(_ name: Substring) -> Bool {
        guard let known = spellings[name.lowercased()] else { return false }
        return known != name
    }

    /// Returns whether some players would mistake an attribute for a DASH attribute.
    static func isMisread(_ attribute: MarkupAttribute) -> Bool {
        guard let first = attribute.name.utf8.first, (0x61...0x7A).contains(first.asciiLowercased) else { return true }
        let local = attribute.localName
        return local.utf8.count < attribute.name.utf8.count && attributes.contains(local)
    }

    /// Returns whether an element contains names that are not DASH names. Events and licences have names of their own.
    static func isForeign(_ element: MarkupElement) -> Bool {
        element.localName == "ContentProtection" || element.localName == "Event"
    }
}
