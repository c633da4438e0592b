/// What is to be different in a vault's settings: `PATCH /api/v1/settings`. What is left out stays as it is.
package struct SettingsChange: Codable, Hashable, Sendable {
    package var maxSize: Int64?
    package var maxAge: Int64?
    package var minFree: Int64?

    package init() {}

    var limits: LimitsDocument { LimitsDocument(maxSize: maxSize, maxAge: maxAge, minFree: minFree) }
}
