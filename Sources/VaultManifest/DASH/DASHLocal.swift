import VaultModel

// Writes an MPD for a folder, naming the files next to it.
extension DASHManifest {
    /// Returns the MPD's bytes with all URIs replaced by file names; see `Manifest.local`.
    ///
    /// Each Representation gets its own element that names its segments, because an inherited element names different
    /// files for each Representation. The MPD's own bases are removed.
    func local(_ names: inout LocalNames, without traces: OriginTraces? = nil) -> [UInt8] {
        let periods = root.elements("Period")
        let lengths = DASHWalk.periodLengths(
            periods, total: root["mediaPresentationDuration"].flatMap(DASHTime.nanoseconds))
        let base = DASHBase(url: url).below(root)
        var number = 0
        var placed = Self.withoutNaming(root)
        placed.children = placed.children.map { node in
            guard let period = node.element, period.localName == "Period" else { return node }
            defer { number += 1 }
            return .element(Self.placed(period, at: base.below(period), [DASHLevel(period)], lengths[number], &names))
        }
        // Ids of Representations can be removed, because the new templates do not use them.
        if let traces { placed = DASHSanitizer.removed(from: placed, traces) }
        return DASHManifest(placed, url: Self.nowhere, byteCount: byteCount).rewritten { _ in ManifestTarget.refusal }
    }

    /// The base that file names are resolved against. No other URL is below it.
    private static let nowhere = MediaURL(scheme: "https", host: "folder.invalid", port: nil, path: "/", query: nil)

    /// Returns a Period, an AdaptationSet or a Representation with its URIs replaced by file names.
    private static func placed(
        _ element: MarkupElement, at base: DASHBase, _ levels: [DASHLevel], _ periodLength: Int64?,
        _ names: inout LocalNames
    ) -> MarkupElement {
        var result = withoutNaming(element)
        guard element.localName != "Representation" else {
            let representation = DASHRepresentation(
                element: element, base: base, segments: DASHSegments(levels), periodLength: periodLength)
            let (first, last) = representation.local(&names)
            result.children = first.map { .element($0) } + result.children + last.map { .element($0) }
            return result
        }
        result.children = result.children.map { node in
            guard let child = node.element, DASHWalk.levelNames.contains(child.localName) else { return node }
            return .element(placed(child, at: base.below(child), levels + [DASHLevel(child)], periodLength, &names))
        }
        return result
    }

    /// Returns an element without its `BaseURL` children, and without the children that name segments.
    private static func withoutNaming(_ element: MarkupElement) -> MarkupElement {
        var result = element
        result.children.removeAll { node in
            guard let child = node.element else { return false }
            return child.localName == "BaseURL" || DASHNaming(rawValue: String(child.localName)) != nil
        }
        return result
    }
}

extension DASHRepresentation {
    /// Returns the elements that name the Representation's files. Some go before its other children, the rest after
    /// them.
    fileprivate func local(_ names: inout LocalNames) -> (first: [MarkupElement], last: [MarkupElement]) {
        guard let url = base.url else { return ([unfetched], []) }
        switch segments.naming {
        case nil: return (baseURL(url, &names), [])
        case .base: return (baseURL(url, &names), [parts(of: segments.merged, &names)])
        case .list:
            var list = parts(of: segments.merged, &names)
            for entry in segments.urls {
                let range = entry.copiedRange("mediaRange")
                guard let name = fileName(of: entry["media"], .segment, range: range, &names) else { continue }
                var entry = entry
                entry["media"] = name
                // If the range cannot be parsed, the attribute is kept for the player, which gets the whole file.
                if range != nil { entry["mediaRange"] = nil }
                (entry["index"], entry["indexRange"]) = (nil, nil)
                list.children.append(.element(entry))
            }
            return ([], [list])
        case .template:
            var template = parts(of: segments.merged, &names)
            template["index"] = nil
            for attribute in ["initialization", "bitstreamSwitching"] {
                guard let text = segments.template(attribute) else { continue }
                let name =
                    isAllowed(text, .initialization) ? fileName(of: text.filled(values), .initialization, &names) : nil
                template[attribute] = name.map(DASHTemplate.escaping) ?? ManifestTarget.refusal
            }
            guard let media = segments.template("media") else { return (baseURL(url, &names), [template]) }
            template["media"] = isAllowed(media, .segment) ? local(media, &names) : ManifestTarget.refusal
            stateEnd(of: &template, names)
            return ([], [template])
        }
    }

    /// The `BaseURL` for a Representation without a URL to request: its own if that contains its data (`data:`), or
    /// else an empty one.
    private var unfetched: MarkupElement {
        var base = element.sibling("BaseURL")
        let text = element.first("BaseURL")?.text ?? ""
        let isInert = DASHBase(url: nil).target(of: text, .data) == .inert
        // An empty `data:` URI is written rather than a path, which would name a file next to the manifest.
        base.replaceContent(by: isInert ? text : "data:,")
        return base
    }

    /// Assigns names to a template's segments, and returns a template that yields these names.
    private func local(_ media: DASHTemplate, _ names: inout LocalNames) -> String? {
        if media.isConstant {
            return fileName(of: media.filled(values), .segment, &names).map(DASHTemplate.escaping)
        }
        let segments = segments(of: media, names)
        guard let first = segments.first?.url else { return nil }
        // The part that differs between segments may follow a `#`. It is then not part of a request, so all segments
        // are one file.
        if segments.count > 1, segments.allSatisfy({ $0.url == first }) {
            return names.name(of: first, .segment).map(DASHTemplate.escaping)
        }
        let template = DASHTemplate(
            names.nextNumber() + "-$Number$" + (media.hasParts ? "-$SubNumber$." : ".")
                + LocalNames.suffix(of: first, .segment))
        for (values, url) in segments { names.add(LocalFile(template.filled(values), url, .segment)) }
        return template.text
    }

    /// Returns those of a template's segments that belong to the title, each with the values that fill the template.
    private func segments(
        of media: DASHTemplate, _ names: LocalNames
    ) -> [(values: DASHTemplate.Values, url: MediaURL)] {
        var values = values
        var found: [(values: DASHTemplate.Values, url: MediaURL)] = []
        for run in runs(names) {
            (values.number, values.time) = (run.number, run.time)
            for _ in 0..<run.count {
                for part in 1...(media.hasParts ? run.parts : 1) {
                    values.part = part
                    guard let url = target(of: media.filled(values), .segment), names.has(url) else { continue }
                    found.append((values, url))
                }
                values.number = values.number.addingClamped(1)
                values.time = values.time.addingClamped(run.duration)
            }
        }
        return found
    }

    /// Returns the runs of segments, minus a rounded-up last segment if the title does not include it.
    private func runs(_ names: LocalNames) -> [SegmentRun] {
        var runs = segments.runs(periodLength: periodLength)
        guard let last = runs.last, last.isRounded, let media = segments.template("media") else { return runs }
        var values = values
        values.number = last.number.addingClamped(last.count - 1)
        values.time = last.time.addingClamped(last.duration.multipliedClamped(by: last.count - 1))
        let isThere = target(of: media.filled(values), .segment).map(names.has) ?? true
        if !isThere { runs[runs.count - 1].count -= 1 }
        return runs
    }

    /// Replaces the segments' common duration with a timeline, which states how many segments there are. Without it,
    /// some players would request file after file until one is missing.
    private func stateEnd(of template: inout MarkupElement, _ names: LocalNames) {
        guard segments.timeline == nil, template["duration"] != nil else { return }
        (template["duration"], template["endNumber"]) = (nil, nil)
        var timeline = element.sibling("SegmentTimeline")
        for run in runs(names) {
            var entry = element.sibling("S")
            (entry["t"], entry["d"], entry["r"]) = ("\(run.time)", "\(run.duration)", "\(run.count - 1)")
            timeline.children.append(.element(entry))
        }
        template.children.append(.element(timeline))
    }

    private func baseURL(_ url: MediaURL, _ names: inout LocalNames) -> [MarkupElement] {
        guard let name = names.name(of: url, .segment) else { return [] }
        var element = self.element.sibling("BaseURL")
        element.replaceContent(by: name)
        return [element]
    }

    /// Returns an element that names segments, together with its initialization and its timeline.
    ///
    /// A range of a file becomes a file of its own, because some players always read local files as a whole.
    private func parts(of element: MarkupElement?, _ names: inout LocalNames) -> MarkupElement {
        var element = element ?? self.element.sibling(DASHNaming.base.rawValue)
        for part in [segments.initialization, segments.index, segments.switching] {
            guard var part else { continue }
            if let source = part["sourceURL"] ?? (segments.naming == .base ? nil : "") {
                let range = part.copiedRange("range")
                guard let name = fileName(of: source, .initialization, range: range, &names) else { continue }
                part["sourceURL"] = name
                if range != nil { part["range"] = nil }
            }
            element.children.append(.element(part))
        }
        if let timeline = segments.timelineElement { element.children.append(.element(timeline)) }
        return element
    }

    /// Returns the URL that a reference leads to. An absent reference leads to the base itself.
    private func target(of reference: String?, _ role: ManifestReference.Role) -> MediaURL? {
        base.target(of: reference ?? "", role).url
    }

    /// Returns the name of the file that a reference leads to. A reference that contains its data (`data:`) is returned
    /// unchanged.
    private func fileName(
        of reference: String?, _ role: ManifestReference.Role, range: ByteRange? = nil, _ names: inout LocalNames
    ) -> String? {
        let target = base.target(of: reference ?? "", role)
        return target == .inert ? reference : target.url.flatMap { names.name(of: $0, role, range: range) }
    }
}
