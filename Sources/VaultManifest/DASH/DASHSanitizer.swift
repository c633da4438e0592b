/// Removes from an MPD everything that no player needs: facts about the title, elements and attributes that are not
/// part of DASH, and everything that names a place but is not a reference.
///
/// Of the other namespaces, only those of Common Encryption and SCTE 35 are kept.
struct DASHSanitizer {
    private let traces: OriginTraces
    /// The root's namespace. It may be any namespace, because DASH parsers go by names alone.
    private let own: String?

    /// Returns a sanitized MPD.
    static func removed(from root: MarkupElement, _ traces: OriginTraces) -> MarkupElement {
        guard !traces.isPlace(root.name) else { return MarkupElement(name: String(root.localName), attributes: [:]) }
        let own = spaces(of: root, within: [:])[prefix(of: root.name)]
        return DASHSanitizer(traces: traces, own: own).removed(from: root, Surroundings())
    }

    /// The facts that an element inherits from those around it.
    private struct Surroundings {
        /// The namespaces, keyed by their prefixes. The key "" stands for names without a prefix.
        var spaces: [Substring: String] = [:]
        /// Whether the element is in a foreign namespace that is kept.
        var isForeign = false
        /// Whether a template is filled with the ids of Representations, so that players need the ids.
        var fillsIDs = false
    }

    private func removed(from element: MarkupElement, _ outer: Surroundings) -> MarkupElement {
        var inner = outer
        inner.spaces = Self.spaces(of: element, within: outer.spaces)
        inner.fillsIDs = outer.fillsIDs || Self.fillsIDs(element)
        var result = element
        result.removeAttributes { !isKept($0, of: element, inner) }
        for attribute in result.attributes where !inner.isForeign && isReference(attribute.name, of: element) {
            if traces.isUnrequestedPlace(Array(attribute.value.trimmingSpace().utf8)) {
                result[attribute.name] = Self.unrequested
            }
        }
        if let profiles = result["profiles"] {
            let kept = profiles.split(separator: ",").filter { isIdentifier(String($0).trimmingSpace()) }
            result["profiles"] = kept.isEmpty ? nil : kept.joined(separator: ",")
        }
        result.children = element.children.compactMap { child(of: $0, in: element, inner) }
        return result
    }

    private func child(of node: MarkupNode, in element: MarkupElement, _ outer: Surroundings) -> MarkupNode? {
        let isForeign = outer.isForeign
        switch node {
        case .text:
            if !isForeign, Self.references.contains(element.localName) {
                return traces.isUnrequestedPlace(Array(element.text.utf8)) ? .text(Self.unrequested) : node
            }
            // The whole text is checked, because players join the pieces between comments.
            let text = element.text
            if isForeign, Self.binaries.contains(element.localName), Self.isBase64(text) { return node }
            let isText = isForeign || Self.texts.contains(element.localName)
            return isText && !traces.isPlace(text) ? node : nil
        case .element(let child):
            let prefix = Self.prefix(of: child.name), space = Self.spaces(of: child, within: outer.spaces)[prefix]
            let isOfDASH = space.map { $0 == own || Self.isDASH($0) } ?? (prefix.isEmpty && own == nil)
            guard isOfDASH ? Self.elements.contains(child.localName) : space.map(Self.isKept) ?? false else {
                return nil
            }
            // A descriptor has no meaning without its scheme.
            if isOfDASH, let scheme = child["schemeIdUri"], !isIdentifier(scheme.trimmingSpace()) {
                return Self.demanding.contains(child.localName) ? .element(Self.unknown(child)) : nil
            }
            guard !traces.isPlace(child.name) else { return nil }
            var outer = outer
            outer.isForeign = !isOfDASH
            return .element(removed(from: child, outer))
        }
    }

    private func isKept(
        _ attribute: MarkupAttribute, of element: MarkupElement, _ surroundings: Surroundings
    ) -> Bool {
        let prefix = Self.prefix(of: attribute.name)
        guard !traces.isPlace(attribute.name) else { return false }
        if attribute.name == "xmlns" || prefix == "xmlns" {
            return Self.isDASH(attribute.value) || Self.isKept(attribute.value)
        }
        if !prefix.isEmpty, attribute.name != "xml:lang" {
            guard let space = surroundings.spaces[prefix], Self.isKept(space) else { return false }
            return !traces.isPlace(attribute.value)
        }
        if surroundings.isForeign || attribute.name == "xml:lang" { return !traces.isPlace(attribute.value) }
        if isReference(attribute.name, of: element) { return true }
        if surroundings.fillsIDs, attribute.name == "id", element.localName == "Representation" { return true }
        if attribute.name == "profiles" || attribute.name == "schemeIdUri" { return true }
        return Self.attributes.contains(attribute.name) && !traces.isPlace(attribute.value)
    }

    /// Returns whether an attribute is a reference that is routed through the vault.
    private func isReference(_ name: String, of element: MarkupElement) -> Bool {
        switch element.localName {
        case "SegmentTemplate": ["media", "index", "initialization", "bitstreamSwitching"].contains(name)
        case "Initialization", "RepresentationIndex", "BitstreamSwitching": name == "sourceURL"
        case "SegmentURL": name == "media" || name == "index"
        case "InitializationSet": name == "initialization"
        case "EssentialProperty", "SupplementalProperty":
            name == "value" && DASHRequests.manifestSchemes.contains(element["schemeIdUri"]?.trimmingSpace() ?? "")
        default: false
        }
    }

    /// Returns whether a template in an element uses the ids of Representations.
    private static func fillsIDs(_ element: MarkupElement) -> Bool {
        element.elements("SegmentTemplate").contains { template in
            template.attributes.contains { $0.value.contains("$RepresentationID$") }
        }
    }

    /// The replacement for a reference that no player requests.
    private static let unrequested = "skd:removed"

    /// Returns a descriptor with a scheme that no player knows, so that no player plays the content that it describes.
    private static func unknown(_ descriptor: MarkupElement) -> MarkupElement {
        MarkupElement(name: descriptor.name, attributes: ["schemeIdUri": "urn:x:removed"])
    }

    // MARK: Names

    /// Returns whether a text identifies a scheme. Identifiers from the DASH Industry Forum look like URLs.
    private func isIdentifier(_ text: String) -> Bool {
        if text.hasPrefix("urn:") { return !traces.isPlace(text) }
        guard let start = ["tag:", "http://dashif.org/", "https://dashif.org/"].first(where: text.hasPrefix) else {
            return false
        }
        return !traces.isPlace(String(text.dropFirst(start.count)))
    }

    /// Returns the namespaces in scope in an element, keyed by their prefixes.
    private static func spaces(of element: MarkupElement, within outer: [Substring: String]) -> [Substring: String] {
        var spaces = outer
        for attribute in element.attributes where attribute.name.utf8.starts(with: "xmlns".utf8) {
            spaces[attribute.name == "xmlns" ? "" : attribute.localName] = attribute.value
        }
        return spaces
    }

    private static func prefix(of name: String) -> Substring {
        name.utf8.firstIndex(of: UInt8(ascii: ":")).map { name[..<$0] } ?? ""
    }

    private static func isDASH(_ space: String) -> Bool { space.lowercased() == "urn:mpeg:dash:schema:mpd:2011" }

    private static func isKept(_ space: String) -> Bool {
        ["urn:mpeg:cenc:2013", "urn:scte:scte35:2013:xml", "urn:scte:scte35:2014:xml+bin"].contains(space)
    }

    // MARK: What players need (ISO/IEC 23009-1 §5)

    /// The elements whose text is a reference that is routed through the vault.
    private static let references: Set<Substring> = ["BaseURL", "Location"]
    private static let texts: Set<Substring> = ["Label", "GroupLabel"]
    /// The elements of foreign namespaces that contain base64 data, in which `//` does not indicate a place.
    private static let binaries: Set<Substring> = ["pssh", "Binary"]

    private static func isBase64(_ text: String) -> Bool {
        text.utf8.allSatisfy { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
            default: "+/= \t\r\n".utf8.contains(byte)
            }
        }
    }

    /// The descriptors that a player must understand to play the content that they describe.
    private static let demanding: Set<Substring> = ["ContentProtection", "EssentialProperty"]

    private static let elements: Set<Substring> = [
        "Accessibility", "AdaptationSet", "AudioChannelConfiguration", "BaseURL", "BitstreamSwitching",
        "ContentComponent", "ContentProtection", "EssentialProperty", "Event", "EventStream", "FailoverContent", "FCS",
        "FramePacking", "GroupLabel", "InbandEventStream", "Initialization", "InitializationSet", "Label", "Latency",
        "Location", "OutputProtection", "Period", "PlaybackRate", "Preselection", "ProducerReferenceTime",
        "RandomAccess", "Rating", "Representation", "RepresentationIndex", "Resync", "Role", "S", "SegmentBase",
        "SegmentList", "SegmentTemplate", "SegmentTimeline", "SegmentURL", "ServiceDescription", "SubRepresentation",
        "Subset", "SupplementalProperty", "Switching", "UTCTiming", "Viewpoint",
    ]

    private static let attributes: Set<String> = [
        "applicationScheme", "associationId", "associationType", "audioSamplingRate", "availabilityEndTime",
        "availabilityStartTime", "availabilityTimeComplete", "availabilityTimeOffset", "bandwidth",
        "bitstreamSwitching", "byteRange", "codecs", "codingDependency", "containerProfiles", "contains",
        "contentComponent", "contentEncoding", "contentType", "d", "dImax", "dImin", "dT", "dependencyId",
        "dependencyLevel", "duration", "endNumber", "eptDelta", "frameRate", "group", "height", "id", "inAllPeriods",
        "inband", "indexRange", "indexRangeExact", "initializationPrincipal", "initializationSetRef", "interval", "k",
        "lang", "level", "marker", "max", "maxBandwidth", "maxFrameRate", "maxHeight", "maxPlayoutRate",
        "maxSegmentDuration", "maxSubsegmentDuration", "maxWidth", "maximumSAPPeriod", "mediaPresentationDuration",
        "mediaRange", "mediaStreamStructureId", "mimeType", "min", "minBandwidth", "minBufferTime", "minFrameRate",
        "minHeight", "minWidth", "minimumUpdatePeriod", "n", "order", "par", "pdDelta", "preselectionComponents",
        "presentationDuration", "presentationTime", "presentationTimeOffset", "publishTime", "qualityRanking", "r",
        "range", "rangeAccess", "ref", "refId", "referenceId", "robustness", "sar", "scanType", "segmentAlignment",
        "segmentProfiles", "selectionPriority", "start", "startNumber", "startWithSAP",
        "subsegmentAlignment", "subsegmentStartsWithSAP", "suggestedPresentationDelay", "t", "tag", "target",
        "timeShiftBufferDepth", "timescale", "type", "value", "wallClockTime", "width",
    ]
}
