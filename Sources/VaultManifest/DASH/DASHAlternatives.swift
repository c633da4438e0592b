package import VaultModel

// An MPD that names several places for the same files: a player takes the first, and another one if that is dead.
extension DASHManifest {
    /// The most places of a file that are looked at, with the first.
    private static let mostPlaces = 8

    /// The other places of files, by the first: wherever several `BaseURL` stand, one other or the first, whatever is
    /// chosen around it.
    package var alternatives: [MediaURL: [MediaURL]] {
        let choices = Self.choices(in: root)
        guard !choices.isEmpty else { return [:] }
        let first = files(of: DASHWalk.representations(of: root, at: url))
        // All that is chosen costs together what one manifest may: a place may name more than the first.
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

    /// Which `BaseURL` counts in the elements of a name; the first if nothing is said.
    private typealias Choice = [Substring: Int]

    /// Returns the choices beside that of the first everywhere, those of one level before those of several.
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

    /// Finds the most `BaseURL` that an element of each name has.
    private static func count(_ element: MarkupElement, _ counts: inout Choice) {
        guard DASHWalk.levelNames.contains(element.localName) else { return }
        counts[element.localName] = max(counts[element.localName] ?? 0, element.elements("BaseURL").count)
        for child in element.elements { count(child, &counts) }
    }

    /// Returns an element with one `BaseURL` wherever there are several.
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
