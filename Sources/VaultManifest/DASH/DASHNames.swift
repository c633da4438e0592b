import VaultModel

/// Names that players read differently: each reader sees the elements and attributes that its XML library shows it.
///
/// ffmpeg ignores the case of elements; libxml2 finds an attribute by its name without prefix; tXml, which reads
/// manifests in Shaka Player and dash.js, passes over whatever is no letter at the beginning of an attribute's name.
enum DASHNames {
    /// The elements that have a URL, or decide where one leads.
    private static let elements: Set<Substring> = DASHWalk.levelNames.union(once).union([
        "BaseURL", "ClientDataReporting", "ContentSteering", "EssentialProperty", "EventStream", "ImportedMPD",
        "InbandEventStream", "InitializationSet", "Location", "Metrics", "PatchLocation", "ProgramInformation",
        "Reporting", "SegmentURL", "SupplementalProperty", "UTCTiming",
    ])

    private static let spellings = Dictionary(uniqueKeysWithValues: elements.map { ($0.lowercased(), $0) })

    /// The elements that stand once where they stand: of several, one player takes the first, another the last.
    static let once: Set<Substring> = [
        "BitstreamSwitching", "Initialization", "RepresentationIndex", "SegmentBase", "SegmentList", "SegmentTemplate",
        "SegmentTimeline",
    ]

    /// The attributes that are URLs, or that URLs are made of.
    private static let attributes: Set<Substring> = [
        "bandwidth", "base", "bitstreamSwitching", "byteRange", "id", "index", "initialization", "media",
        "moreInformationURL", "schemeIdUri", "sourceURL", "value",
    ]

    /// Returns whether the name of an element is one of DASH but for its capitals.
    static func isMisspelled(_ name: Substring) -> Bool {
        guard let known = spellings[name.lowercased()] else { return false }
        return known != name
    }

    /// Returns whether some players take an attribute for one of DASH, which it is not.
    static func isMisread(_ attribute: MarkupAttribute) -> Bool {
        guard let first = attribute.name.utf8.first, (0x61...0x7A).contains(first.asciiLowercased) else { return true }
        let local = attribute.localName
        return local.utf8.count < attribute.name.utf8.count && attributes.contains(local)
    }

    /// Returns whether names in an element are not those of DASH: events and licences have their own.
    static func isForeign(_ element: MarkupElement) -> Bool {
        element.localName == "ContentProtection" || element.localName == "Event"
    }
}
