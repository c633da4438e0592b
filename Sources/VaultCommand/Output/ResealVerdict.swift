import MediaVault

/// What the command says of a reseal as a whole, and its exit code.
struct ResealVerdict: Hashable, Sendable {
    /// A sentence each.
    let remarks: [String]
    let status: ExitStatus

    init(_ report: ResealReport) {
        var remarks = [
            "\(report.resources) titles have new keys, \(ByteCount.text(report.bytes)) were sealed anew"
        ]
        if report.damage > 0 {
            remarks.append(
                "\(report.damage) pieces of damage were met, and are gaps now: run verify, and fetch the titles that list "
                    + "does not show as whole")
        }
        if report.problems > 0 {
            remarks.append(
                "\(report.problems) titles keep an older key: run verify, and remove what does not open")
        }
        self.remarks = remarks
        status = report.damage + report.problems > 0 ? .integrity : .done
    }
}
