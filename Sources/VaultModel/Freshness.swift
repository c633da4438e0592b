/// What the `Cache-Control` of an answer says to a private cache (RFC 9111 §5.2.2, RFC 8246).
///
/// `private`, `public` and `s-maxage` are for shared caches. A directive that names fields (`no-cache="…"`) is about
/// those alone, and media have none of them.
package struct CacheControl: Hashable, Sendable {
    /// For how many seconds the answer is fresh: the least that is said, and 0 where what is said is no number.
    package private(set) var maxAge: Int64?
    /// `no-cache`, and `no-store`, which is obeyed as the same: the vault stores what its owner asks it to, sealed.
    package private(set) var isNoCache = false
    /// `must-revalidate`.
    package private(set) var mustRevalidate = false
    /// `immutable`: it does not change while it is fresh.
    package private(set) var isImmutable = false

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

    /// The parts between commas; a comma within quotes is none.
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

/// How long a representation is taken for what its origin has, without asking (RFC 9111 §4.2).
///
/// Times are whole seconds of the wall clock. They are compared with care: a clock may have been wrong when they were
/// taken, or be wrong now.
package struct Freshness: Hashable, Sendable {
    /// When the question was asked whose answer last said that the representation is current, since 1970.
    package let checked: Int64
    /// For how many seconds after that nobody asks.
    package let lifetime: Int64
    /// Whether the origin's refusal counts even where bytes are held (`no-cache`, `must-revalidate`).
    package let isStrict: Bool

    /// The longest lifetime: what RFC 9111 §1.2.2 has a cache take for any larger number.
    package static let mostLifetime: Int64 = 1 << 31
    /// How far a clock may be set back without anybody asking for it.
    private static let clockTolerance: Int64 = 60

    /// What is out of bounds is brought within them.
    package init(checked: Int64, lifetime: Int64, isStrict: Bool = false) {
        self.checked = min(max(0, checked), ContentInformation.mostBytes)
        self.lifetime = min(max(0, lifetime), Self.mostLifetime)
        self.isStrict = isStrict
    }

    /// Whether nobody needs to ask.
    ///
    /// A time before the last question tells no age: the clock was wrong then, or is now, and one question settles it.
    package func isFresh(now: Int64) -> Bool {
        guard now >= checked - Self.clockTolerance else { return false }
        // Neither side overflows: `checked` is not below 0.
        return max(now, checked) - checked < lifetime
    }

    /// The same lifetime from another question on.
    package func renewed(at time: Int64) -> Freshness {
        Freshness(checked: time, lifetime: lifetime, isStrict: isStrict)
    }

    /// Whether it says so much more than what is written down that it is worth writing.
    package func isNews(after written: Freshness?) -> Bool {
        guard let written, written.isStrict == isStrict else { return true }
        let more = (checked + lifetime) - (written.checked + written.lifetime)
        return more < 0 || more >= max(60, lifetime / 10)
    }
}

// What an answer says of its freshness.
extension Freshness {
    /// Where nothing is said: at least an hour, at most a week, between them a tenth of the time since the last change.
    package static let heuristicBounds: ClosedRange<Int64> = 3600...604_800
    /// An age that the two clocks make larger than this is a wrong clock.
    private static let mostApparentAge: Int64 = 86_400

    /// What the fields of an answer say.
    ///
    /// The origin's times are compared with its own `Date`, so that a wrong clock on either side does no harm.
    ///
    /// - Parameter asked: when the question was asked, by our clock.
    package init(_ fields: HeaderFields, asked: Int64) {
        // A clock may say anything.
        let asked = min(max(0, asked), ContentInformation.mostBytes)
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

    /// What a 304 makes of it: its own word where it says something, else what held before, from now on (RFC 9111 §4.3.4).
    package func confirmed(by fields: HeaderFields, asked: Int64) -> Freshness {
        let saysSomething = fields["Cache-Control"] != nil || fields["Expires"] != nil
        return saysSomething ? Freshness(fields, asked: asked) : renewed(at: asked)
    }

    private static func stated(_ control: CacheControl, _ fields: HeaderFields, date: Int64) -> Int64? {
        if let maxAge = control.maxAge { return min(maxAge, mostLifetime) }
        guard fields["Expires"] != nil else { return nil }
        // `0`, and every other text that is no date, is a time that is over.
        return time("Expires", in: fields, now: date).map { max(0, $0 - date) } ?? 0
    }

    private static func heuristic(_ control: CacheControl, _ fields: HeaderFields, date: Int64, age: Int64) -> Int64 {
        if control.isImmutable { return heuristicBounds.upperBound }
        let sinceChange = time("Last-Modified", in: fields, now: date).map { max(0, date - $0) } ?? 0
        return min(max(sinceChange / 10 - age, heuristicBounds.lowerBound), heuristicBounds.upperBound)
    }

    /// How old the answer was when it came: what caches on its way say, or what the clocks do.
    private static func age(_ fields: HeaderFields, date: Int64, asked: Int64) -> Int64 {
        let apparent = max(0, asked - date)
        // Of several ages the first counts (RFC 9111 §5.1).
        let told = fields["Age"].flatMap { DecimalNumber.clamped($0.prefix { $0 != "," }.trimmingBlanks()) } ?? 0
        return max(min(told, mostLifetime), apparent <= mostApparentAge ? apparent : 0)
    }

    private static func time(_ name: String, in fields: HeaderFields, now: Int64) -> Int64? {
        fields[name].flatMap { HTTPDate($0, now: now) }?.seconds
    }
}
