import MediaVault
import VaultService

/// What `verify` prints for people.
enum VerifySheet {
    static func text(_ report: VerifyDocument) -> String {
        var facts = [("opened", "\(ByteCount.text(report.bytesOpened)) in \(report.segments) segments")]
        facts.append(("damage", damage(report.damage)))
        if report.found > 0 { facts.append(("left", String(report.remaining))) }
        if report.bytesRefetched > 0 { facts.append(("fetched anew", ByteCount.text(report.bytesRefetched))) }
        if report.unreadable > 0 { facts.append(("not readable", "\(report.unreadable) files: check the disk")) }
        let orphans = report.orphans
        if orphans.good + orphans.strange > 0 {
            facts.append(
                (
                    "without a row",
                    "\(orphans.good) segments (\(orphans.adopted) adopted), \(orphans.strange) other files "
                        + "(\(orphans.quarantined) moved to quarantine)"
                ))
        }
        let more = report.damagedResources - report.resources.count
        return FactSheet.text(facts) + report.resources.map(line).joined() + (more > 0 ? "and \(more) more\n" : "")
    }

    private static func damage(_ damage: [String: Int]) -> String {
        let found = DamageClass.allCases.compactMap { kind in
            damage[kind.rawValue].flatMap { $0 > 0 ? "\(name(kind)): \($0)" : nil }
        }
        return found.isEmpty ? "none" : found.joined(separator: ", ")
    }

    private static func name(_ kind: DamageClass) -> String {
        switch kind {
        case .missing: "files missing"
        case .size: "files of a wrong size"
        case .header: "damaged headers"
        case .key: "wrong keys"
        case .block: "bad blocks"
        case .row: "impossible rows"
        case .resource: "titles whose rows do not open"
        case .settings: "settings that do not open"
        }
    }

    private static func line(_ resource: VerifyDocument.Resource) -> String {
        let ranges = resource.ranges.prefix(8).map { "\($0[0])-\($0[1] - 1)" }.joined(separator: ", ")
        let rest = resource.ranges.count > 8 ? ", …" : ""
        let state = resource.repaired ? "repaired" : resource.problem.value ?? "damaged"
        return Terminal.printable(
            "\(resource.url.value ?? resource.id)" + (ranges.isEmpty ? "" : " \(ranges)\(rest)") + ": \(state)") + "\n"
    }
}
