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
