import VaultModel

/// Replaces the URIs in an MPD.
///
/// A link's path mirrors the path at the origin, so a relative reference that stays below its base's folder is kept.
/// The vault does not handle DRM licences, because a player requests them with a POST whose response is for that player
/// alone, and half of their URLs are in binary data. Everything in `ContentProtection` is therefore kept, and players
/// request licences directly.
struct DASHRewriting {
    let isLive: Bool
    /// See ``Manifest/rewritten(hidesNames:_:)``.
    let hidesNames: Bool
    let link: (ManifestReference) throws -> String?

    /// Returns an element with the URIs in its content replaced.
    ///
    /// - Parameters:
    ///   - outer: the base that applies to the element itself.
    ///   - levels: the facts about segments that the elements around it state.
    ///   - users: the Representations that inherit the element's content, if it names segments.
    func rewritten(
        _ element: MarkupElement, at outer: DASHBase, levels outerLevels: [DASHLevel] = [],
        users outerUsers: SegmentUsers? = nil
    ) throws -> MarkupElement {
        let isLevel = DASHWalk.levelNames.contains(element.localName)
        let base = isLevel ? outer.below(element) : outer
        let levels = isLevel ? outerLevels + [DASHLevel(element)] : outerLevels
        var users = outerUsers
        // Elements that name segments are inherited by Representations with other bases. If there are no such elements,
        // the search for those Representations is skipped.
        if isLevel, let level = levels.last, !level.elements.isEmpty {
            users = SegmentUsers(DASHWalk.representations(in: element, at: base, levels: levels), base)
        }
        var isFile: Bool?
        var result = element
        result.removeAttributes(where: DASHNames.isMisread)
        result.children = []
        result.children.reserveCapacity(element.children.count)
        for node in element.children {
            guard case .element(var child) = node else {
                result.children.append(node)
                continue
            }
            guard !DASHNames.isForeign(child) else {
                result.children.append(node)
                continue
            }
            child.removeAttributes(where: DASHNames.isMisread)
            guard !DASHRequests.areMade(by: child, readsAgain: isLive && !hidesNames) else { continue }
            switch child.localName {
            case "BaseURL":
                // Players fill in this template for byte ranges with a URL, and request the result.
                child["byteRange"] = nil
                isFile = isFile ?? isOneFile(element, at: base, levels: levels)
                child.keepText(try baseURL(child.text, isFile: isFile == true, at: outer))
            case "Location": child.keepText(try plain(child.text, .playlist, at: [outer]))
            default:
                // Only elements that name segments are inherited, along with their content; other elements are resolved
                // once.
                let isInherited = isLevel ? DASHNaming(rawValue: String(child.localName)) != nil : outerUsers != nil
                let users = isInherited ? users : nil
                try rewriteAttributes(of: &child, at: base, for: users ?? SegmentUsers([], base))
                if !child.children.isEmpty {
                    child = try rewritten(child, at: base, levels: levels, users: isLevel ? users : nil)
                }
            }
            result.children.append(.element(child))
        }
        return result
    }

    /// The Representations that inherit an element, and their distinct bases.
    struct SegmentUsers {
        let bases: [DASHBase]
        /// The base of each Representation, with the values that fill its templates.
        let values: [(base: DASHBase, values: DASHTemplate.Values)]

        init(_ representations: [DASHRepresentation], _ base: DASHBase) {
            let used = representations.map { ($0.base, $0.values) }
            values = used.isEmpty ? [(base, DASHTemplate.Values())] : used
            var seen: Set<DASHBase> = []
            bases = values.map(\.base).filter { seen.insert($0).inserted }
        }
    }

    /// The maximum number of bases at which the entries of one list are resolved. With more bases, the entries are
    /// refused.
    private static let maxBasesOfList = 16

    private func rewriteAttributes(
        of element: inout MarkupElement, at base: DASHBase, for users: SegmentUsers
    ) throws {
        switch element.localName {
        case "SegmentTemplate":
            let templates: [(String, ManifestReference.Role)] = [
                ("media", .segment), ("index", .data), ("initialization", .initialization),
                ("bitstreamSwitching", .initialization),
            ]
            for (name, role) in templates {
                guard let text = element[name], let new = try template(text, role, for: users) else { continue }
                element[name] = new
            }
        case "Initialization", "RepresentationIndex", "BitstreamSwitching":
            try replace("sourceURL", in: &element, .initialization, at: users.bases)
        case "SegmentURL":
            let bases = users.bases.count <= Self.maxBasesOfList ? users.bases : []
            try replace("media", in: &element, .segment, at: bases)
            try replace("index", in: &element, .data, at: bases)
        case "InitializationSet": try replace("initialization", in: &element, .initialization, at: [base])
        case "ProgramInformation": element["moreInformationURL"] = nil
        case "EssentialProperty", "SupplementalProperty": try rewriteProperty(&element, at: base)
        default: break
        }
    }

    // MARK: URIs

    private func replace(
        _ attribute: String, in element: inout MarkupElement, _ role: ManifestReference.Role, at bases: [DASHBase]
    ) throws {
        guard let text = element[attribute], let new = try plain(text, role, at: bases) else { return }
        element[attribute] = new
    }

    /// Returns the text to write for a reference, or nil to keep it.
    ///
    /// A reference that has different outcomes at different bases is refused, because no single text would be right for
    /// all of them.
    private func plain(_ text: String, _ role: ManifestReference.Role, at bases: [DASHBase]) throws -> String? {
        let targets = Set(bases.map { $0.target(of: text, role) })
        let outcomes = Set(targets.map(DASHOutcome.init))
        switch outcomes.count == 1 ? outcomes.first : nil {
        case .stays:
            // An empty reference means the base, whose link has already been written.
            guard hidesNames, !targets.contains(.inert), !text.trimmingSpace().isEmpty else { return nil }
            guard targets.count == 1 else { return nil }
            guard let url = targets.first?.url else { return ManifestTarget.refusal }
            return try link(ManifestReference(url, role)).map(ManifestLink.escaped)
        case .linked(let url): return try link(ManifestReference(url, role)).map(ManifestLink.escaped)
        case .refused, nil: return ManifestTarget.refusal
        }
    }

    /// Returns the text to write for a `BaseURL`, or nil to keep it.
    ///
    /// - Parameter isFile: whether the URL is a single file that nothing is relative to.
    private func baseURL(_ text: String, isFile: Bool, at outer: DASHBase) throws -> String? {
        let target = outer.target(of: text, .data)
        switch DASHOutcome(target) {
        case .stays:
            guard hidesNames, target != .inert else { return nil }
            if isFile, let url = target.url {
                return try link(ManifestReference(url, .segment)).map(ManifestLink.escaped)
            }
            let path = text.trimmingSpace().prefix { $0 != "?" && $0 != "#" }
            return path.isEmpty ? "./" : String(path)
        // The refusal is written as a folder, so that references relative to it are refused, too.
        case .refused: return ManifestTarget.refusal + "/"
        case .linked(let url):
            if isFile, hidesNames || !url.namesFolder || url.query != nil {
                return try link(ManifestReference(url, .segment)).map(ManifestLink.escaped)
            }
            guard let folder = try link(ManifestReference(url.folder, .segment, isFolder: true)) else { return nil }
            // The name matters if the URL turns out to be a file. Otherwise, resolving a reference drops the name.
            let name = String(url.path.dropFirst(url.folder.path.count))
            let query = hidesNames ? nil : url.query
            return ManifestLink.escaped(folder) + (name.isEmpty ? "" : name + (query.map { "?\($0)" } ?? ""))
        }
    }

    /// Returns whether an element's base is a file that players request, and no reference that is written is relative
    /// to it.
    private func isOneFile(_ element: MarkupElement, at base: DASHBase, levels: [DASHLevel]) -> Bool {
        let representations = DASHWalk.representations(in: element, at: base, levels: levels)
        // A reference that gets a link of its own is not relative.
        let isAlone = { (segments: DASHSegments) in hidesNames ? segments.isBaseRequested : segments.isOneFile }
        return representations.contains { $0.base == base }
            && representations.allSatisfy { representation in
                isAlone(representation.segments)
                    && (representation.base == base || hidesNames && representation.base.url != nil)
            }
    }

    /// Returns the text to write for a template, or nil to keep it.
    private func template(
        _ text: String, _ role: ManifestReference.Role, for users: SegmentUsers
    ) throws -> String? {
        let template = DASHTemplate(text)
        if template.isConstant {
            return try plain(template.filled(DASHTemplate.Values()), role, at: users.bases).map(DASHTemplate.escaping)
        }
        let outcomes = Set(users.values.map { DASHOutcome(template, filledWith: $0.values, at: $0.base, role) })
        switch outcomes.count == 1 ? outcomes.first : nil {
        case .stays: return nil
        case .linked(let folder):
            let link = try link(ManifestReference(folder, role, isFolder: true))
            return link.map {
                DASHTemplate.escaping(ManifestLink.escaped($0)) + text.dropFirst(template.folder.count)
            }
        case .refused, nil: return ManifestTarget.refusal
        }
    }

    private func rewriteProperty(_ element: inout MarkupElement, at base: DASHBase) throws {
        let scheme = element["schemeIdUri"]?.trimmingSpace() ?? ""
        if DASHRequests.manifestSchemes.contains(scheme), let value = element["value"] {
            element["value"] = try value.split(whereSeparator: \.isWhitespace).map { uri in
                try plain(String(uri), .playlist, at: [base]) ?? String(uri)
            }.joined(separator: " ")
        } else if scheme == DASHRequests.fontScheme {
            for attribute in element.attributes where attribute.localName == "url" {
                try replace(attribute.name, in: &element, .data, at: [base])
            }
        }
    }
}
