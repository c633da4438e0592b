extension OriginConformance.Requirement {
    /// The check that tries the requirement.
    var check: Trial.Check {
        switch self {
        case .sendsTarget: RequestChecks.target
        case .sendsRange: RequestChecks.range
        case .sendsConditions: RequestChecks.conditions
        case .sendsFields: RequestChecks.fields
        case .asksForIdentity: RequestChecks.identity
        case .keepsNoCookies: RequestChecks.cookies
        case .keepsNoAnswers: RequestChecks.cache
        case .followsRedirects: RedirectChecks.follow
        case .endsRedirectLoops: RedirectChecks.loops
        case .refusesOtherSchemes: RedirectChecks.schemes
        case .reportsLocation: RedirectChecks.location
        case .reportsPermanentMove: RedirectChecks.permanentMove
        case .keepsSecretsAtOrigin: RedirectChecks.secrets
        case .staysInReach: AddressChecks.reach
        case .namesPrivateHosts: AddressChecks.privateHosts
        case .numbersConnections: AddressChecks.connections
        case .passesOnEveryStatus: HeadChecks.statuses
        case .passesOnRangeAnswers: HeadChecks.rangeAnswers
        case .passesOnRepeatedFields: HeadChecks.repeatedFields
        case .passesOnContentCoding: HeadChecks.contentCoding
        case .skipsInterimAnswers: HeadChecks.interimAnswers
        case .readsLargeHeads: HeadChecks.largeHead
        case .boundsHeads: HeadChecks.hugeHead
        case .readsEveryFraming: BodyChecks.framings
        case .expectsNoBody: BodyChecks.noBody
        case .stopsAtContentLength: BodyChecks.excess
        case .reportsShortBodies: BodyChecks.short
        case .deliversAsItArrives: DeliveryChecks.progress
        case .boundsPieces: DeliveryChecks.pieces
        case .holdsBack: DeliveryChecks.backPressure
        case .servesSideBySide: DeliveryChecks.sideBySide
        case .reportsMissingAnswers: FailureChecks.missingAnswers
        case .reportsInvalidHTTP: FailureChecks.invalidHTTP
        case .leavesRetriesToVault: FailureChecks.retries
        case .namesNoSecrets: FailureChecks.secrets
        case .endsWithTask: EndChecks.task
        case .endsWithCancel: EndChecks.cancel
        case .endsWithRelease: EndChecks.release
        case .returnsUnreadBytes: EndChecks.unreadBytes
        }
    }
}
