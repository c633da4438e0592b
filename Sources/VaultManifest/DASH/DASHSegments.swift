import VaultModel

/// The way in which segments are named (ISO/IEC 23009-1 §5.3.9), given by the element that states it.
enum DASHNaming: String, CaseIterable {
    case template = "SegmentTemplate"
    case list = "SegmentList"
    /// A single file with an index.
    case base = "SegmentBase"
}

/// The facts that one Period, AdaptationSet or Representation states about segments. They are read once for all that
/// inherit them.
struct DASHLevel {
    /// An element that names segments.
    struct Element {
        let element: MarkupElement
        let initialization: MarkupElement?
        let index: MarkupElement?
        let switching: MarkupElement?
        let timeline: [Entry]?
        /// The entries of a `SegmentList`.
        let urls: [MarkupElement]

        init(_ element: MarkupElement) {
            self.element = element
            initialization = element.first("Initialization")
            index = element.first("RepresentationIndex")
            switching = element.first("BitstreamSwitching")
            timeline = element.first("SegmentTimeline")?.elements("S").compactMap(Entry.init)
            urls = element.elements("SegmentURL")
        }
    }

    /// An `S` entry of a timeline.
    struct Entry {
        let number: Int64?
        let time: Int64?
        let duration: Int64
        /// The number of times that the segment is repeated; nil if it repeats until the next entry or the end of the
        /// Period.
        let repeats: Int64?
        /// The number of the segment's parts that are requested separately (`S@k`).
        let parts: Int64

        init?(_ element: MarkupElement) {
            guard let duration = element.number("d") else { return nil }
            self.duration = duration
            number = element.number("n")
            time = element.number("t")
            let isOpen = element["r"]?.trimmingSpace().hasPrefix("-") ?? false
            repeats = isOpen ? nil : element.number("r") ?? 0
            parts = max(1, element.number("k") ?? 1)
        }
    }

    let elements: [DASHNaming: Element]

    init(_ level: MarkupElement) {
        var elements: [DASHNaming: Element] = [:]
        for child in level.elements {
            guard let naming = DASHNaming(rawValue: String(child.localName)), elements[naming] == nil else { continue }
            elements[naming] = Element(child)
        }
        self.elements = elements
    }
}

/// The facts that a Representation and the levels around it state about its segments.
///
/// The innermost level that names segments decides how they are named. Facts that it leaves out are inherited from the
/// same element further out.
struct DASHSegments {
    /// The way in which segments are named; nil if the `BaseURL` is a single file, and nothing is stated about its
    /// segments.
    let naming: DASHNaming?
    /// The elements of that kind, innermost first.
    private let elements: [DASHLevel.Element]

    /// Combines levels.
    ///
    /// - Parameter levels: the levels of the Period, the AdaptationSet and the Representation, outermost first.
    init(_ levels: [DASHLevel]) {
        let naming = levels.last { !$0.elements.isEmpty }.flatMap { level in
            DASHNaming.allCases.first { level.elements[$0] != nil }
        }
        self.naming = naming
        elements = naming.map { naming in levels.reversed().compactMap { $0.elements[naming] } } ?? []
    }

    private func inherited<Value>(_ value: (DASHLevel.Element) -> Value?) -> Value? {
        elements.lazy.compactMap(value).first
    }

    var initialization: MarkupElement? { inherited(\.initialization) }
    var index: MarkupElement? { inherited(\.index) }
    var switching: MarkupElement? { inherited(\.switching) }
    var urls: [MarkupElement] { inherited { $0.urls.isEmpty ? nil : $0.urls } ?? [] }
    var timeline: [DASHLevel.Entry]? { inherited(\.timeline) }

    var timelineElement: MarkupElement? { inherited { $0.element.first("SegmentTimeline") } }

    /// The element that names segments, with its inherited attributes and without content; nil if there is none.
    var merged: MarkupElement? {
        guard var merged = elements.last?.element else { return nil }
        merged.children = []
        for level in elements.dropLast().reversed() {
            for attribute in level.element.attributes { merged[attribute.name] = attribute.value }
        }
        return merged
    }

    /// Returns an attribute as a template.
    func template(_ name: String) -> DASHTemplate? { inherited { $0.element[name] }.map(DASHTemplate.init) }

    /// Whether the `BaseURL` names a single file that nothing is relative to.
    var isOneFile: Bool {
        switch naming {
        case nil: true
        case .base: [initialization, index].allSatisfy { ($0?["sourceURL"] ?? "").isEmpty }
        case .template:
            ["media", "initialization", "bitstreamSwitching"].allSatisfy { template($0)?.text == nil }
                && [initialization, index, switching].allSatisfy { $0?.name == nil }
        // The entries of a list may be ranges of the base.
        case .list:
            [initialization, index, switching].allSatisfy { ($0?["sourceURL"] ?? "").isEmpty }
                && urls.allSatisfy { $0["media"] == nil && $0["index"] == nil }
        }
    }

    /// Whether the base itself is requested, and no template that a player fills is relative to it.
    var isBaseRequested: Bool {
        switch naming {
        case nil, .base: true
        case .list:
            urls.contains { $0["media"] == nil }
                || [initialization, index, switching].contains { $0.map { ($0["sourceURL"] ?? "").isEmpty } ?? false }
        case .template:
            template("media") == nil
                && ["index", "initialization", "bitstreamSwitching"].allSatisfy { template($0)?.isConstant ?? true }
        }
    }

    private func number(_ name: String) -> Int64? { inherited { $0.element.number(name) } }
}

/// A run of segments that differ only in their numbers and times.
struct SegmentRun: Hashable {
    var number: Int64
    var time: Int64
    var duration: Int64
    var count: Int64
    var parts: Int64 = 1
    /// Whether the count was rounded up, so that only part of the last segment plays, if it exists at all.
    var isRounded = false
}

extension DASHSegments {
    /// Returns the runs of segments that a template names.
    ///
    /// The counts come from the manifest and may be as large as `Int64.max`.
    ///
    /// - Parameter length: the length of the Period in nanoseconds; nil if it is unknown.
    func runs(periodLength length: Int64?) -> [SegmentRun] {
        let first = number("startNumber") ?? 1
        let last = number("endNumber")
        let timescale = number("timescale").flatMap { $0 > 0 ? $0 : nil } ?? 1
        let offset = number("presentationTimeOffset") ?? 0
        let runs: [SegmentRun]
        if let timeline {
            let end = length.map { Self.ceiling($0, timescale, 1).addingClamped(offset) }
            runs = Self.runs(of: timeline, from: first, end: end)
        } else if let duration = number("duration"), duration > 0 {
            let count = length.map { Self.ceiling($0, timescale, duration) } ?? (last == nil ? 1 : .max)
            var run = SegmentRun(number: first, time: offset, duration: duration, count: count)
            // A stated last number is not rounded, and the first segment always exists.
            let leavesLittle = length.map { Self.leavesLittle($0, timescale, duration) } ?? false
            run.isRounded = last == nil && count > 1 && leavesLittle
            runs = [run]
        } else {
            runs = [SegmentRun(number: first, time: offset, duration: 0, count: 1)]
        }
        guard let last else { return runs }
        return runs.compactMap { run in
            guard run.number <= last else { return nil }
            var run = run
            run.count = min(run.count, (last - run.number).addingClamped(1))
            return run
        }
    }

    private static func runs(of timeline: [DASHLevel.Entry], from first: Int64, end: Int64?) -> [SegmentRun] {
        var runs: [SegmentRun] = []
        var (number, time) = (first, Int64(0))
        for (index, entry) in timeline.enumerated() {
            number = entry.number ?? number
            time = entry.time ?? time
            var count: Int64 = 1
            if let repeats = entry.repeats {
                count = repeats.addingClamped(1)
            } else if entry.duration > 0,
                let next = index + 1 < timeline.count ? timeline[index + 1].time : end, next > time
            {
                let span = next - time
                count = span / entry.duration + (span % entry.duration == 0 ? 0 : 1)
            }
            runs.append(
                SegmentRun(number: number, time: time, duration: entry.duration, count: count, parts: entry.parts))
            number = number.addingClamped(count)
            time = time.addingClamped(entry.duration.multipliedClamped(by: count))
        }
        return runs
    }

    /// Returns whether whole segment durations, in timescale units, leave such a short remainder of the nanoseconds
    /// that it may not be a segment of its own: at most one second, and less than half a duration.
    private static func leavesLittle(_ nanoseconds: Int64, _ timescale: Int64, _ duration: Int64) -> Bool {
        let second = Int128(timescale) * 1_000_000_000
        let whole = Int128(duration) * 1_000_000_000
        let rest = Int128(nanoseconds) * Int128(timescale) % whole
        return rest > 0 && rest <= second && rest * 2 < whole
    }

    /// Returns how many segments begin within the given nanoseconds; `duration` is the length of a segment in timescale
    /// units.
    private static func ceiling(_ nanoseconds: Int64, _ timescale: Int64, _ duration: Int64) -> Int64 {
        let whole = Int128(nanoseconds) * Int128(timescale)
        let part = Int128(duration) * 1_000_000_000
        return Int64(clamping: (whole + part - 1) / part)
    }
}
