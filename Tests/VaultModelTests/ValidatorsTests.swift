import Testing
import VaultModel

@Suite("Validators")
struct ValidatorsTests {
    private static let monday = "Mon, 07 Nov 1994 08:49:37 GMT"
    private static let sunday = "Sun, 06 Nov 1994 08:49:37 GMT"

    private static func validators(_ tag: String?, _ date: String?) -> Validators {
        Validators(entityTag: tag.flatMap { EntityTag($0) }, lastModified: date)
    }

    private static let agreements: [(mine: (String?, String?), theirs: (String?, String?), agree: Bool)] = [
        // Two strong tags decide alone.
        (("\"1\"", nil), ("\"1\"", nil), true), (("\"1\"", monday), ("\"1\"", sunday), true),
        (("\"1\"", nil), ("\"2\"", nil), false), (("\"1\"", monday), ("\"2\"", monday), false),
        // Different tags mean that the content changed, weak or not.
        (("W/\"1\"", nil), ("W/\"2\"", nil), false), (("W/\"1\"", monday), ("W/\"2\"", monday), false),
        (("\"1\"", monday), ("W/\"2\"", monday), false),
        // If a tag became weak, or only one side has one, the date decides.
        (("\"1\"", monday), ("W/\"1\"", monday), true), (("\"1\"", monday), ("W/\"1\"", sunday), false),
        (("\"1\"", nil), ("W/\"1\"", nil), false), (("\"1\"", monday), (nil, monday), true),
        (("\"1\"", monday), (nil, sunday), false), (("\"1\"", nil), (nil, nil), false),
        (("\"1\"", monday), (nil, nil), false),
        // Without a strong tag the dates decide.
        ((nil, monday), (nil, monday), true), ((nil, monday), (nil, sunday), false), ((nil, monday), (nil, nil), false),
        (("W/\"1\"", monday), ("W/\"1\"", monday), true), (("W/\"1\"", monday), ("W/\"1\"", sunday), false),
        // If neither side can be verified, they agree.
        ((nil, nil), (nil, nil), true), (("W/\"1\"", nil), ("W/\"1\"", nil), true),
        (("W/\"1\"", nil), (nil, nil), true),
    ]

    @Test(
        "Answers of one version agree in either order, and answers of two versions do not",
        arguments: agreements.indices)
    func agree(index: Int) {
        let row = Self.agreements[index]
        let mine = Self.validators(row.mine.0, row.mine.1)
        let theirs = Self.validators(row.theirs.0, row.theirs.1)
        #expect(mine.agree(with: theirs) == row.agree, "\(row)")
        #expect(theirs.agree(with: mine) == row.agree, "\(row), the other way round")
    }

    @Test(
        "If-Range carries a strong tag, else the date, never a weak tag (RFC 9110 §13.1.5)",
        arguments: [
            ("\"1\"", monday, "\"1\""), ("\"1\"", nil, "\"1\""), ("W/\"1\"", monday, monday), ("W/\"1\"", nil, nil),
            (nil, monday, monday), (nil, nil, nil),
        ] as [(String?, String?, String?)])
    func ifRange(tag: String?, date: String?, field: String?) {
        let validators = Self.validators(tag, date)
        #expect(validators.ifRange == field)
        #expect(validators.canVerify == (field != nil))
        #expect(validators.strongTag?.description == (field == date ? nil : field))
    }

    @Test("An answer's validators are read from its fields, in any case")
    func head() {
        let head = OriginHead(status: 200, fields: HeaderFields(["etag": "\"1\"", "LAST-MODIFIED": Self.monday]))
        #expect(head.validators == Self.validators("\"1\"", Self.monday))
        #expect(OriginHead(status: 200, fields: HeaderFields(["ETag": "unquoted"])).validators == Validators())
        #expect(
            OriginHead(status: 200, fields: HeaderFields(["ETag": "", "Last-Modified": " "])).validators == Validators()
        )
    }

    private static let dates: [(modified: String?, sent: String?, counts: Bool)] = [
        (sunday, monday, true), (sunday, "Sun, 06 Nov 1994 08:49:38 GMT", true),
        (sunday, "Sunday, 06-Nov-94 08:49:38 GMT", true),
        // A later change within the same second would have the same date.
        (monday, monday, false), (monday, sunday, false), (monday, "Monday, 07-Nov-94 08:49:37 GMT", false),
        // Without a date, nothing is known about the second of the answer.
        (sunday, nil, true), (sunday, "yesterday", true), ("yesterday", monday, true),
        ("", monday, false), (nil, monday, false),
    ]

    @Test(
        "A modification date counts if it is at least a second before the date of its answer", arguments: dates.indices)
    func ownSecond(index: Int) {
        let row = Self.dates[index]
        var fields = HeaderFields()
        if let modified = row.modified { fields.append(name: "Last-Modified", value: modified) }
        if let sent = row.sent { fields.append(name: "Date", value: sent) }
        let head = OriginHead(status: 200, fields: fields, connection: 5)
        #expect(head.validators.lastModified == (row.counts ? row.modified : nil), "\(row)")
        let isOfItsOwnSecond = !row.counts && row.modified != nil && row.modified != ""
        #expect(head.connectionOfVersion == (isOfItsOwnSecond ? nil : 5), "\(row)")
    }

    @Test("An answer without a date, or with none that can be read, counts as sent when it came")
    func undated() throws {
        let now = try #require(HTTPDate(Self.monday, now: 0)).seconds
        for date in [nil, "yesterday"] {
            var head = OriginHead(
                status: 200, fields: HeaderFields(["ETag": "W/\"1\"", "Last-Modified": Self.monday]), connection: 5)
            if let date { head.fields.append(name: "Date", value: date) }
            #expect(head.dated(now).validators == Self.validators("W/\"1\"", nil))
            #expect(head.dated(now).connectionOfVersion == nil)
            #expect(head.dated(now + 1).validators.lastModified == Self.monday)
            #expect(head.dated(now + 1).connectionOfVersion == 5)
        }
        let dated = OriginHead(status: 200, fields: HeaderFields(["Last-Modified": Self.monday, "Date": Self.monday]))
        #expect(dated.dated(now + 9).validators == Validators(), "the origin's clock counts, not ours")
    }
}
