import ArgumentParser

/// A share of a hundred: `5`, `0.5`, `5%`.
struct SamplePercent: Hashable, Sendable, ExpressibleByArgument {
    let percent: Double

    init?(argument: String) {
        let number = argument.hasSuffix("%") ? String(argument.dropLast()) : argument
        guard number.utf8.allSatisfy({ (0x30...0x39).contains($0) || $0 == 0x2E }), let percent = Double(number),
            percent > 0, percent <= 100
        else { return nil }
        self.percent = percent
    }
}
