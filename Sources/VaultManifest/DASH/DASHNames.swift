import VaultModel

/// Names that players read differently: each reader sees the elements and attributes that its XML library shows it.
///
/// ffmpeg ignores the case of elements; libxml2 finds an attribute by its name without its prefix; tXml, which reads
/// manifests in Shaka Player and dash.js, skips anything but letters at the beginning of an attribute's name.
enum DASHNames {
    /// The elements that have a URL, or decide where one leads.
    private static let elements: Set<Substring> = DASHWalk.levelNames.union(once).union([
        "BaseURL", "ClientDataReporting", "ContentSteering", "EssentialProperty", "EventStream", "ImportedMPD",
        "InbandEventStream", "InitializationSet", "Location", "Metrics", "PatchLocation", "ProgramInformation",
        "Reporting", "SegmentURL", "SupplementalProperty", "UTCTiming",
    ])

    private static let spellings = Dictionary(uniqueKeysWithValues: elements.map { ($0.lowercased(), $0) })

    /// The elements that must not be repeated in one parent: of several, one player takes the first, another the last.
    static let once: Set<Substring> = [
        "BitstreamSwitching", "Initialization", "RepresentationIndex", "SegmentBase", "SegmentList", "SegmentTemplate",
        "SegmentTimeline",
    ]

    /// The attributes that are URLs, or that URLs are made of.
    private static let attributes: Set<Substring> = [
        "bandwidth", "base", "bitstreamSwitching", "byteRange", "id", "index", "initialization", "media",
        "moreInformationURL", "schemeIdUri", "sourceURL", "value",
    ]

    /// Returns whether the name of an element differs from a DASH name only in case.
    static func isMisspelled(_ name: Substring) -> Bool {
        guard let known = spellings[name.lowercased()] else { return false }
        return known != name
    }

    /// Returns whether some players mistake an attribute for a DASH attribute.
    static func isMisread(_ attribute: MarkupAttribute) -> Bool {
        guard let first = attribute.name.utf8.first, (0x61...0x7A).contains(first.asciiLowercased) else { return true }
        let local = attribute.localName
        return local.utf8.count < attribute.name.utf8.count && attributes.contains(local)
    }

    /// Returns whether the names in an element are not DASH names: events and licences have their own.
    static func isForeign(_ element: MarkupElement) -> Bool {
        element.localName == "ContentProtection" || element.localName == "Event"
    }
}
