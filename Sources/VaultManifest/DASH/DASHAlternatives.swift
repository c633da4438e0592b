import VaultModel

/// The other places of an MPD's files. An MPD may name several for the same files; a player takes the first, and another
/// if the first is unavailable.
struct DASHAlternatives {
    let root: MarkupElement
    let url: MediaURL
    let isLive: Bool

    /// The maximum number of places that are considered for a file, including the first.
    private static let mostPlaces = 8

    /// The alternative URLs of files, keyed by the first URL. Each comes from another choice among several `BaseURL`
    /// elements, at one level or at several.
    var places: [MediaURL: [MediaURL]] {
        let choices = Self.choices(in: root)
        guard !choices.isEmpty else { return [:] }
        let first = files(of: DASHWalk.representations(of: root, at: url))
        // All choices share the budget of one manifest, because another place may name more files than the first.
        var budget = ManifestBudget(.standard)
        var found: [MediaURL: [MediaURL]] = [:]
        for choice in choices {
            let representations = DASHWalk.representations(of: Self.choosing(choice, in: root), at: url)
            guard isAffordable(representations, &budget) else { break }
            for (one, other) in zip(first, files(of: representations)) {
                guard !one.isRefused, !other.isRefused, one.references.count == other.references.count else { continue }
                for (reference, place) in zip(one.references, other.references) where place.url != reference.url {
                    var places = found[reference.url] ?? []
                    guard places.count + 1 < Self.mostPlaces, !places.contains(place.url) else { continue }
                    places.append(place.url)
                    found[reference.url] = places
                }
            }
        }
        return found
    }

    private func files(
        of representations: [DASHRepresentation]
    ) -> [(references: [ManifestReference], isRefused: Bool)] {
        representations.map { $0.files(isLive: isLive) }
    }

    private func isAffordable(_ representations: [DASHRepresentation], _ budget: inout ManifestBudget) -> Bool {
        do throws(ManifestError) {
            for representation in representations { try representation.spend(&budget, isLive: isLive) }
            return true
        } catch {
            return false
        }
    }

    /// The index of the `BaseURL` that counts, keyed by the name of the element that contains it. An absent name means
    /// the first `BaseURL`.
    private typealias Choice = [Substring: Int]

    /// Returns at most `mostPlaces` − 1 choices that differ from taking the first `BaseURL` everywhere. Choices at one
    /// level come first.
    private static func choices(in root: MarkupElement) -> [Choice] {
        var counts: Choice = [:]
        count(root, &counts)
        var choices: [Choice] = [[:]]
        for (name, count) in counts.sorted(by: { $0.key < $1.key }) where count > 1 {
            choices += (1..<min(count, mostPlaces)).flatMap { number in
                choices.map { $0.merging([name: number]) { _, new in new } }
            }
        }
        return Array(choices.sorted { $0.count < $1.count }.dropFirst().prefix(mostPlaces - 1))
    }

    /// Records, for each element name, the highest number of `BaseURL` children in any element of that name.
    private static func count(_ element: MarkupElement, _ counts: inout Choice) {
        guard DASHWalk.levelNames.contains(element.localName) else { return }
        counts[element.localName] = max(counts[element.localName] ?? 0, element.elements("BaseURL").count)
        for child in element.elements { count(child, &counts) }
    }

    /// Returns an element that keeps only the chosen `BaseURL` at each level.
    private static func choosing(_ choice: Choice, in element: MarkupElement) -> MarkupElement {
        guard DASHWalk.levelNames.contains(element.localName) else { return element }
        let chosen = min(choice[element.localName] ?? 0, element.elements("BaseURL").count - 1)
        var (result, number) = (element, 0)
        result.children = element.children.compactMap { node in
            guard let child = node.element else { return node }
            guard child.localName == "BaseURL" else { return .element(choosing(choice, in: child)) }
            defer { number += 1 }
            return number == chosen ? node : nil
        }
        return result
    }
}
