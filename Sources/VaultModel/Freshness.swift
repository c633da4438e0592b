/// A response's `Cache-Control`, as a private cache reads it (RFC 9111 §5.2.2, RFC 8246).
///
/// `private`, `public` and `s-maxage` are ignored, because they are for shared caches. A directive that names fields
/// (`no-cache="…"`) is ignored, because it applies only to fields that media do not have.
package struct CacheControl: Hashable, Sendable {
    /// How long, in seconds, the response is fresh: the smallest stated value, or 0 if any value is not a number.
    package private(set) var maxAge: Int64?
    /// Whether the response has `no-cache` or `no-store`.
    ///
    /// `no-store` is treated as `no-cache`: the vault still stores what its user requests, but sealed.
    package private(set) var isNoCache = false
    /// Whether the response has `must-revalidate`.
    package private(set) var mustRevalidate = false
    /// Whether the response has `immutable`, which means that it does not change while it is fresh.
    package private(set) var isImmutable = false

    /// Parses the directives.
    ///
    /// - Parameter lines: the values of all `Cache-Control` fields.
    package init(_ lines: [String]) {
        for line in lines {
            for member in Self.members(of: line) { add(member) }
        }
    }

    private mutating func add(_ member: Substring) {
        let parts = member.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let argument = parts.count > 1 ? parts[1].trimmingBlanks() : nil
        switch parts[0].trimmingBlanks().lowercased() {
        case "max-age": maxAge = min(maxAge ?? .max, argument.map(Self.seconds) ?? 0)
        case "no-cache": isNoCache = isNoCache || argument == nil
        case "no-store": isNoCache = true
        case "must-revalidate": mustRevalidate = true
        case "immutable": isImmutable = true
        default: break
        }
    }

    private static func seconds(_ argument: Substring) -> Int64 {
        let isQuoted = argument.count >= 2 && argument.first == "\"" && argument.last == "\""
        return DecimalNumber.clamped(isQuoted ? argument.dropFirst().dropLast() : argument) ?? 0
    }

    /// Splits a field value at its commas, except for commas within quotation marks.
    private static func members(of line: String) -> [Substring] {
        var members: [Substring] = []
        var start = line.startIndex
        var (isQuoted, isEscaped) = (false, false)
        for index in line.indices {
            let character = line[index]
            if isEscaped {
                isEscaped = false
            } else if character == "\\" {
                isEscaped = isQuoted
            } else if character == "\"" {
                isQuoted.toggle()
            } else if character == ",", !isQuoted {
                members.append(line[start..<index])
                start = line.index(after: index)
            }
        }
        return members + [line[start...]]
    }
}

/// The period in which a representation is used without asking its origin (RFC 9111 §4.2).
///
/// Times are whole seconds of the wall clock. Comparisons allow for a clock that was wrong when a time was recorded, or
/// that is wrong now.
package struct Freshness: Hashable, Sendable {
    /// The time of the request whose response last confirmed the representation, in seconds since 1970.
    package let checked: Int64
    /// How long, in seconds, the origin is not asked after ``checked``.
    package let lifetime: Int64
    /// Whether the origin's refusal takes effect even if bytes are held (`no-cache`, `must-revalidate`).
    package let isStrict: Bool

    /// The maximum lifetime, which is the value that a cache uses for any larger number (RFC 9111 §1.2.2).
    package static let maxLifetime: Int64 = 1 << 31
    /// How far, in seconds, a clock may be set back without causing a revalidation.
    private static let clockTolerance: Int64 = 60

    /// Creates a freshness; values that are out of bounds are clamped.
    package init(checked: Int64, lifetime: Int64, isStrict: Bool = false) {
        self.checked = min(max(0, checked), ContentInformation.maxBytes)
        self.lifetime = min(max(0, lifetime), Self.maxLifetime)
        self.isStrict = isStrict
    }

    /// Returns whether the representation may be used without asking the origin.
    ///
    /// If `now` is before the last revalidation, the age is unknown, because the clock was wrong then or is wrong now.
    /// One revalidation resolves this.
    package func isFresh(now: Int64) -> Bool {
        guard now >= checked - Self.clockTolerance else { return false }
        // Neither side overflows, because `checked` is not negative.
        return max(now, checked) - checked < lifetime
    }

    /// Returns a freshness with the same lifetime that starts at another revalidation.
    package func renewed(at time: Int64) -> Freshness {
        Freshness(checked: time, lifetime: lifetime, isStrict: isStrict)
    }

    /// Returns whether this freshness differs enough from the stored one to be worth storing.
    package func isWorthStoring(after written: Freshness?) -> Bool {
        guard let written, written.isStrict == isStrict else { return true }
        let more = (checked + lifetime) - (written.checked + written.lifetime)
        return more < 0 || more >= max(60, lifetime / 10)
    }
}

// Computing the freshness from a response.
extension Freshness {
    /// The bounds of the heuristic lifetime, in seconds: an hour and a week.
    ///
    /// Within these bounds, the lifetime is a tenth of the time since the last change, less the response's age.
    package static let heuristicBounds: ClosedRange<Int64> = 3600...604_800
    /// The longest apparent age, in seconds, that is believed; a longer one means that a clock is wrong.
    private static let maxApparentAge: Int64 = 86_400

    /// Computes the freshness from a response's fields.
    ///
    /// The origin's times are compared with its own `Date`, so that a wrong clock on either side does no harm.
    ///
    /// - Parameter asked: when the request was sent, in seconds since 1970 by the local clock.
    package init(_ fields: HeaderFields, asked: Int64) {
        // The clock may be wrong by any amount, so its value is clamped.
        let asked = min(max(0, asked), ContentInformation.maxBytes)
        let control = CacheControl(fields.values("Cache-Control"))
        let date = Self.time("Date", in: fields, now: asked) ?? asked
        let age = Self.age(fields, date: date, asked: asked)
        var lifetime =
            if let stated = Self.stated(control, fields, date: date) {
                stated - age
            } else {
                Self.heuristic(control, fields, date: date, age: age)
            }
        if control.isNoCache { lifetime = 0 }
        self.init(checked: asked, lifetime: lifetime, isStrict: control.isNoCache || control.mustRevalidate)
    }

    /// Returns the freshness after a 304 (RFC 9111 §4.3.4).
    ///
    /// If the 304 states a lifetime, it applies; otherwise the previous lifetime starts again.
    package func confirmed(by fields: HeaderFields, asked: Int64) -> Freshness {
        let saysSomething = fields["Cache-Control"] != nil || fields["Expires"] != nil
        return saysSomething ? Freshness(fields, asked: asked) : renewed(at: asked)
    }

    private static func stated(_ control: CacheControl, _ fields: HeaderFields, date: Int64) -> Int64? {
        if let maxAge = control.maxAge { return min(maxAge, maxLifetime) }
        guard fields["Expires"] != nil else { return nil }
        // `0`, like any other text that is not a date, means a time in the past.
        return time("Expires", in: fields, now: date).map { max(0, $0 - date) } ?? 0
    }

    private static func heuristic(_ control: CacheControl, _ fields: HeaderFields, date: Int64, age: Int64) -> Int64 {
        if control.isImmutable { return heuristicBounds.upperBound }
        let sinceChange = time("Last-Modified", in: fields, now: date).map { max(0, date - $0) } ?? 0
        return min(max(sinceChange / 10 - age, heuristicBounds.lowerBound), heuristicBounds.upperBound)
    }

    /// Returns the response's age at arrival, as stated by caches on its way or as computed from the clocks.
    private static func age(_ fields: HeaderFields, date: Int64, asked: Int64) -> Int64 {
        let apparent = max(0, asked - date)
        // If there are several ages, the first one applies (RFC 9111 §5.1).
        let told = fields["Age"].flatMap { DecimalNumber.clamped($0.prefix { $0 != "," }.trimmingBlanks()) } ?? 0
        return max(min(told, maxLifetime), apparent <= maxApparentAge ? apparent : 0)
    }

    private static func time(_ name: String, in fields: HeaderFields, now: Int64) -> Int64? {
        fields[name].flatMap { HTTPDate($0, now: now) }?.seconds
    }
}
