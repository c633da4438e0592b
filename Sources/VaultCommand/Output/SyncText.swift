import MediaVault
import VaultModel
import VaultService

/// Formats subscriptions and their runs for people.
enum SyncText {
    /// Returns a line for each title that was fetched or removed, and a line with the counts.
    ///
    /// - Parameters:
    ///   - isDryRun: whether the run was a dry run, which changes nothing.
    ///   - isServed: whether a service fetches the titles through its download queue.
    static func of(_ document: SyncDocument, isDryRun: Bool, isServed: Bool) -> String {
        let fetched = document.fetched.filter { $0.problem == nil }
        let removed = document.removed.filter { $0.problem == nil }
        let (fetch, remove) = isDryRun ? ("would fetch", "would remove") : (isServed ? "queued" : "fetched", "removed")
        var text = ""
        for (word, items) in [(remove, removed), (fetch, fetched)] {
            for item in items { text += "\(word) \(item.id)  \(Terminal.printable(ShownURL.of(item.name)))\n" }
        }
        var counts = ["\(fetched.count) \(isServed && !isDryRun ? "queued" : "to fetch")"]
        if !isDryRun, !isServed { counts = ["\(fetched.count) fetched"] }
        counts += ["\(removed.count) \(isDryRun ? "to remove" : "removed")", "\(document.unchanged) unchanged"]
        if document.pinned > 0 { counts.append("\(document.pinned) kept because pinned") }
        if document.waiting > 0 { counts.append("\(document.waiting) stay until everything new is there") }
        let failed = (document.fetched + document.removed).count { $0.problem != nil }
        if failed > 0 { counts.append("\(failed) failed") }
        if !document.repairs.isEmpty { text += "read with repairs: \(document.repairs.joined(separator: ", "))\n" }
        if document.moved == true, let place = document.subscription.movedTo {
            text += "moved to \(Terminal.printable(place))\n"
        }
        return text
            + "\(Terminal.printable(ShownURL.of(document.subscription.name))): \(counts.joined(separator: ", "))\n"
    }

    /// Returns the messages to print after a subscription was added.
    static func added(_ subscription: SubscriptionDocument, isUntried: Bool) -> [String] {
        let moved = subscription.movedTo.map { "it has moved to \(Terminal.printable($0))" }
        let read =
            subscription.titles == 0 ? "it was not read again" : "it names \(Count.of(subscription.titles, "title"))"
        return [moved, isUntried ? "it was not tried" : read].compactMap(\.self)
    }

    /// Returns the number of subscriptions, and of those that have failed for long.
    static func counts(_ counts: SubscriptionCounts) -> String {
        guard counts.followed > 0 || counts.failing > 0 else { return "none" }
        let followed = "\(counts.followed) followed"
        guard counts.failing > 0 else { return followed }
        return "\(followed), \(counts.failing) failing for a day or longer: mediavault sync list says why"
    }

    /// Returns the table of subscriptions; empty if there are none.
    static func table(_ subscriptions: [SubscriptionDocument], now: Int64) -> String {
        guard !subscriptions.isEmpty else { return "" }
        let rows = subscriptions.map { subscription in
            [
                subscription.id, "\(subscription.titles)",
                subscription.every.map { Quantity.text($0, in: Quantity.times) } ?? "by hand",
                subscription.lastRun.map { AgeText.text(seconds: max(0, now - $0.seconds)) } ?? "never",
                next(subscription, now),
                [
                    subscription.problem.map { labelled(subscription.name, $0) }
                        ?? Terminal.printable(ShownURL.of(subscription.name)),
                    subscription.movedTo.map { "moved to \(Terminal.printable($0))" },
                ].compactMap(\.self).joined(separator: "; "),
            ]
        }
        return TextTable.text([["ID", "TITLES", "EVERY", "RAN", "NEXT", "NAME"]] + rows)
    }

    /// Returns a message prefixed with the subscription's name, unless it already contains the name.
    static func labelled(_ name: String, _ text: String) -> String {
        Terminal.printable(text.contains(name) ? text : "\(ShownURL.of(name)): \(text)")
    }

    private static func next(_ subscription: SubscriptionDocument, _ now: Int64) -> String {
        guard subscription.every != nil, !subscription.gone else { return "-" }
        guard let next = subscription.nextRun, next.seconds > now else { return "now" }
        return AgeText.text(seconds: next.seconds - now)
    }
}
