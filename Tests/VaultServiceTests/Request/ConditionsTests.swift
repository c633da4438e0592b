import Testing
import VaultModel

@testable import VaultService

/// The conditions of RFC 9110 §13 as a table.
@Suite("Conditions")
struct ConditionsTests {
    private let tag = EntityTag(strong: "v1")
    private static let date = "Sat, 21 Nov 2026 12:00:00 GMT"
    private static let earlier = "Sat, 21 Nov 2026 11:59:59 GMT"
    private static let later = "Sat, 21 Nov 2026 12:00:01 GMT"
    private static let now: Int64 = 1_800_000_000

    private func conditions(
        ifMatch: [String] = [], ifNoneMatch: [String] = [], ifModifiedSince: [String] = [],
        ifUnmodifiedSince: [String] = [], ifRange: [String] = []
    ) -> Conditions {
        Conditions(
            ifMatch: ifMatch, ifNoneMatch: ifNoneMatch, ifModifiedSince: ifModifiedSince,
            ifUnmodifiedSince: ifUnmodifiedSince, ifRange: ifRange, now: Self.now)
    }

    private func verdict(_ conditions: Conditions, isDated: Bool = true) -> Conditions.Verdict {
        conditions.verdict(on: tag, isDated ? HTTPDate(Self.date, now: Self.now) : nil)
    }

    @Test(
        "If-Match matches the same strong tag, one of a list, or an asterisk (RFC 9110 §13.1.1)",
        arguments: [
            (["\"v1\""], .hold), (["*"], .hold), (["\"v0\", \"v1\""], .hold), (["\"v0\"", "\"v1\""], .hold),
            (["\"a,b\" , \"v1\""], .hold), ([" * "], .hold), (["\"v0\",,\"v1\","], .hold),
            (["W/\"v1\""], .failed), (["\"v2\""], .failed), (["v1"], .failed), ([""], .failed),
            (["\"v1"], .failed), (["*, \"v1\""], .failed), (["\"v1\" \"v2\""], .failed), (["\"V1\""], .failed),
        ] as [([String], Conditions.Verdict)])
    func ifMatch(values: [String], expected: Conditions.Verdict) {
        #expect(verdict(conditions(ifMatch: values)) == expected)
    }

    @Test(
        "If-None-Match matches the same tag, weak or strong, one of a list, or an asterisk (RFC 9110 §13.1.2)",
        arguments: [
            (["\"v1\""], .notModified), (["W/\"v1\""], .notModified), (["*"], .notModified),
            (["\"v0\", W/\"v1\""], .notModified), (["\"v0\"", "\"v1\""], .notModified),
            (["\"v2\""], .hold), (["v1"], .hold), ([""], .hold), (["\"v1"], .hold), (["garbage, \"v1\""], .hold),
        ] as [([String], Conditions.Verdict)])
    func ifNoneMatch(values: [String], expected: Conditions.Verdict) {
        #expect(verdict(conditions(ifNoneMatch: values)) == expected)
    }

    @Test(
        "If-Modified-Since gives 304 unless its date is before the last change (RFC 9110 §13.1.3)",
        arguments: [
            ([earlier], .hold), ([date], .notModified), ([later], .notModified),
            (["Saturday, 21-Nov-26 12:00:00 GMT"], .notModified), (["Sat Nov 21 12:00:00 2026"], .notModified),
            (["garbage"], .hold), ([""], .hold), ([later, later], .hold),
        ] as [([String], Conditions.Verdict)])
    func ifModifiedSince(values: [String], expected: Conditions.Verdict) {
        #expect(verdict(conditions(ifModifiedSince: values)) == expected)
        #expect(verdict(conditions(ifModifiedSince: values), isDated: false) == .hold)
    }

    @Test(
        "If-Unmodified-Since gives 412 if its date is before the last change (RFC 9110 §13.1.4)",
        arguments: [
            ([earlier], .failed), ([date], .hold), ([later], .hold), (["garbage"], .hold), ([earlier, earlier], .hold),
        ] as [([String], Conditions.Verdict)])
    func ifUnmodifiedSince(values: [String], expected: Conditions.Verdict) {
        #expect(verdict(conditions(ifUnmodifiedSince: values)) == expected)
        #expect(verdict(conditions(ifUnmodifiedSince: values), isDated: false) == .hold)
    }

    @Test("Conditions are evaluated in the order of RFC 9110 §13.2.2; a tag overrides the date beside it")
    func order() {
        #expect(verdict(conditions(ifMatch: ["\"v2\""], ifNoneMatch: ["\"v1\""])) == .failed)
        #expect(verdict(conditions(ifMatch: ["\"v1\""], ifNoneMatch: ["\"v1\""])) == .notModified)
        #expect(verdict(conditions(ifMatch: ["\"v1\""], ifUnmodifiedSince: [Self.earlier])) == .hold)
        #expect(verdict(conditions(ifNoneMatch: ["\"v2\""], ifModifiedSince: [Self.later])) == .hold)
        #expect(verdict(conditions(ifNoneMatch: ["garbage"], ifModifiedSince: [Self.later])) == .hold)
        #expect(verdict(conditions(ifNoneMatch: ["\"v1\""], ifUnmodifiedSince: [Self.earlier])) == .failed)
        #expect(
            verdict(conditions(ifModifiedSince: [Self.later], ifUnmodifiedSince: [Self.later])) == .notModified)
    }

    @Test(
        "If-Range applies a range only for the same strong tag (RFC 9110 §13.1.5)",
        arguments: [
            (["\"v1\""], true), ([], true), (["W/\"v1\""], false), (["\"v2\""], false), (["v1"], false), ([""], false),
            ([date], false), (["\"v1\", \"v2\""], false), (["\"v1\"", "\"v1\""], false), (["*"], false),
        ])
    func ifRange(values: [String], counts: Bool) {
        let conditions = conditions(ifRange: values)
        #expect(conditions.rangeCounts(for: tag) == counts)
        #expect(conditions.hasRange == !values.isEmpty && !conditions.hasAny)
    }

    @Test("A request without conditions needs no facts")
    func none() {
        #expect(!Conditions.none.hasAny && !Conditions.none.hasRange)
        #expect(verdict(.none) == .hold)
    }
}
