import VaultModel

/// A Representation with everything that it inherits, which is enough to name all its files.
struct DASHRepresentation {
    let element: MarkupElement
    let base: DASHBase
    let segments: DASHSegments
    /// The length of the Period in nanoseconds; nil if it is unknown.
    let periodLength: Int64?

    /// The values that fill the Representation's templates, except for numbers and times.
    ///
    /// They are the attributes' text as written, because even a bit rate that is not a number must not lead a player
    /// elsewhere.
    var values: DASHTemplate.Values {
        DASHTemplate.Values(id: element["id"] ?? "", bandwidth: element["bandwidth"] ?? "")
    }
}

/// Finds the Representations of an MPD, with their bases.
enum DASHWalk {
    /// Returns every Representation in order.
    static func representations(of root: MarkupElement, at url: MediaURL) -> [DASHRepresentation] {
        let base = DASHBase(url: url).below(root)
        let periods = root.elements("Period")
        let lengths = periodLengths(periods, total: root["mediaPresentationDuration"].flatMap(DASHTime.nanoseconds))
        return zip(periods, lengths).flatMap { period, length in
            representations(
                in: period, at: base.below(period), levels: [DASHLevel(period)], periodLength: length)
        }
    }

    /// Returns the Representations in a Period, an AdaptationSet or a Representation.
    ///
    /// - Parameters:
    ///   - base: the base that applies within the element.
    ///   - levels: the facts about segments that this element and those around it state.
    static func representations(
        in element: MarkupElement, at base: DASHBase, levels: [DASHLevel], periodLength: Int64? = nil
    ) -> [DASHRepresentation] {
        if element.localName == "Representation" {
            return [
                DASHRepresentation(
                    element: element, base: base, segments: DASHSegments(levels), periodLength: periodLength)
            ]
        }
        return element.elements.filter { levelNames.contains($0.localName) }.flatMap {
            representations(in: $0, at: base.below($0), levels: levels + [DASHLevel($0)], periodLength: periodLength)
        }
    }

    /// The elements that may contain a `BaseURL` and name segments.
    static let levelNames: Set<Substring> = [
        "MPD", "Period", "AdaptationSet", "EmptyAdaptationSet", "Representation",
    ]

    /// Returns the length of each Period in nanoseconds (ISO/IEC 23009-1 §5.3.2.1).
    static func periodLengths(_ periods: [MarkupElement], total: Int64?) -> [Int64?] {
        let starts = periods.map { $0["start"].flatMap(DASHTime.nanoseconds) }
        var start: Int64? = 0
        return periods.indices.map { index in
            start = starts[index] ?? start
            let isLast = index + 1 == periods.count
            let end = isLast ? total : starts[index + 1]
            var length = periods[index]["duration"].flatMap(DASHTime.nanoseconds)
            if length == nil, let start, let end, end >= start { length = end - start }
            if let begun = start { start = length.map { begun.addingClamped($0) } }
            return length
        }
    }
}

extension DASHBase {
    /// Returns the base that applies within an element. Its first `BaseURL` counts; the others are alternatives.
    func below(_ element: MarkupElement) -> DASHBase {
        element.first("BaseURL").map { descending(to: $0.text) } ?? self
    }
}

extension DASHRepresentation {
    /// Counts all the Representation's files against a budget, without naming them.
    func spend(_ budget: inout ManifestBudget, isLive: Bool) throws(ManifestError) {
        guard let url = base.url else { return }
        try budget.spend(on: url)
        for entry in segments.urls {
            try budget.spend(on: url)
            try budget.spend(bytes: (entry["media"]?.utf8.count ?? 0) + (entry["index"]?.utf8.count ?? 0))
        }
        guard segments.naming == .template, !isLive, let media = segments.template("media") else { return }
        // Timeline entries that name no segment also count, because reading them takes time.
        var count: Int64 = 0
        for run in segments.runs(periodLength: periodLength) where !media.isConstant {
            count = count.addingClamped(run.count.multipliedClamped(by: media.hasParts ? run.parts : 1))
        }
        var values = values
        (values.number, values.time, values.part) = (.max, .max, .max)
        let templates = [media, segments.template("index")].compactMap(\.self)
        let longest = templates.map { $0.filled(values).utf8.count }.reduce(0, +)
        var spent: Int64 = 0
        while spent < max(count, Int64(segments.timeline?.count ?? 0)) {
            for _ in templates { try budget.spend(on: url) }
            try budget.spend(bytes: longest)
            spent += 1
        }
    }

    /// Returns every file that a player needs for this Representation, in playing order.
    ///
    /// The segments of a live MPD's template are left out, because they depend on the time of day.
    func references(isLive: Bool) -> [ManifestReference] { files(isLive: isLive).references }

    /// Returns ``references(isLive:)``, and whether a file was left out because players are not allowed to request it.
    func files(isLive: Bool) -> (references: [ManifestReference], isRefused: Bool) {
        guard let url = base.url else { return ([], true) }
        var found = References(resolver: URLResolver(url), base: url)
        switch segments.naming {
        case nil:
            found.append(nil, .segment)
        case .base:
            // The whole file is needed. Parts in separate files come before it.
            for part in [segments.initialization, segments.index] where part?["sourceURL"] != nil {
                found.append(part?["sourceURL"], .initialization, range: part?.byteRange("range"))
            }
            found.append(nil, .segment)
        case .list:
            appendParts(to: &found)
            for entry in segments.urls {
                if let index = entry["index"] { found.append(index, .data, range: entry.byteRange("indexRange")) }
                found.append(entry["media"], .segment, range: entry.byteRange("mediaRange"))
            }
        case .template:
            appendParts(to: &found)
            if !isLive { appendSegments(to: &found) }
        }
        return (found.list, found.isRefused)
    }

    private func appendParts(to found: inout References) {
        for name in ["initialization", "bitstreamSwitching"] {
            guard let template = segments.template(name) else { continue }
            guard isAllowed(template, .initialization) else {
                found.isRefused = true
                continue
            }
            found.append(template.filled(values), .initialization)
        }
        for part in [segments.initialization, segments.index, segments.switching] {
            if let part { found.append(part["sourceURL"], .initialization, range: part.byteRange("range")) }
        }
    }

    /// Returns whether a rewritten manifest keeps a template, or links to its folder.
    func isAllowed(_ template: DASHTemplate, _ role: ManifestReference.Role) -> Bool {
        template.isConstant || DASHOutcome(template, filledWith: values, at: base, role) != .refused
    }

    private func appendSegments(to found: inout References) {
        // If no template names the segments, the base is the only segment.
        guard let media = segments.template("media") else { return found.append(nil, .segment) }
        guard isAllowed(media, .segment) else { return found.isRefused = true }
        let list = segments.template("index").flatMap { isAllowed($0, .data) ? $0 : nil }
        var values = values
        for run in segments.runs(periodLength: periodLength) {
            (values.number, values.time) = (run.number, run.time)
            for index in 0..<(media.isConstant ? min(run.count, 1) : run.count) {
                let mayBeAbsent = run.isRounded && index + 1 == run.count
                if let list { found.append(list.filled(values), .data) }
                for part in 1...(media.hasParts ? run.parts : 1) {
                    values.part = part
                    found.append(media.filled(values), .segment, mayBeAbsent: mayBeAbsent)
                }
                values.number = values.number.addingClamped(1)
                values.time = values.time.addingClamped(run.duration)
            }
            if media.isConstant { break }
        }
    }

    /// The references found so far.
    private struct References {
        var resolver: URLResolver
        let base: MediaURL
        var list: [ManifestReference] = []
        /// Whether a reference was refused.
        var isRefused = false

        init(resolver: URLResolver, base: MediaURL) {
            self.resolver = resolver
            self.base = base
        }

        /// Appends a reference; nil means the base itself. A reference that no player can request is left out.
        mutating func append(
            _ reference: String?, _ role: ManifestReference.Role, range: ByteRange? = nil, mayBeAbsent: Bool = false
        ) {
            let text = Array((reference ?? "").trimmingSpace().utf8)[...]
            guard !text.isEmpty else { return list.append(ManifestReference(base, role, range: range)) }
            switch ManifestTarget(text, role, &resolver) {
            case .url(let url):
                list.append(ManifestReference(url, role, range: range, mayBeAbsent: mayBeAbsent))
            case .refused: isRefused = true
            case .inert: break
            }
        }
    }
}
