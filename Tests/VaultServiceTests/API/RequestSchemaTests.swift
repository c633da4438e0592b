import MediaVault
import Testing
import VaultTestSupport

@testable import VaultService

@Suite("Requests have what the API description says, and no more", .timeLimit(.minutes(5)))
struct RequestSchemaTests {
    @Test("The parameters of a query are those that the description names, each once")
    func query() {
        let list = RequestSchema(.resources, "GET")
        #expect(list.parameters == ["after", "limit", "sort", "filter", "search"])
        #expect(RequestSchema(.resources, "HEAD").parameters == list.parameters)
        #expect(RequestSchema(.events, "GET").parameters == ["id", "url", "contentID", "ticket"])
        #expect(RequestSchema(.contentByID, "GET").parameters.isEmpty, "the id is of the path, Range a header field")
        #expect(list.fault(inQuery: []) == nil && list.fault(inQuery: ["sort", "limit", "search"]) == nil)
        let unknown = "the query has the parameter sorted, which"
        #expect(list.fault(inQuery: ["sort", "sorted"])?.hasPrefix(unknown) == true)
        #expect(list.fault(inQuery: ["sort", "limit", "sort"]) == "the query has the parameter sort twice")
        // A name that is no plain word is not repeated: it may be a secret in the wrong place.
        for name in ["", "a b", "mvt_x.y", String(repeating: "a", count: 33), "\u{202E}"] {
            #expect(list.fault(inQuery: [name])?.hasPrefix("the query has a parameter, which") == true)
        }
    }

    @Test(
        "A member that an object has twice is found, however it is written, and wherever it is",
        arguments: [
            (#"{"scope":"read","scope":"admin"}"#, "scope"), (#"{"a":{"b":1,"c":2,"b":3}}"#, "b"),
            (#"{"scope":1,"s\u0063ope":2}"#, "scope"), (#"[{"x":1},{"x":1,"y":[],"x":1}]"#, "x"),
            (#"{"a":"b" , "c":"d", "a" :1}"#, "a"), (#"{"a":"\"","a":1}"#, "a"), (#"{"\\":1,"\\":2}"#, #"\"#),
            (#"{"a":1,"A":1,"b":{"a":1},"c":[{"a":1},{"a":1}]}"#, nil), (#"{"a":"a","b":["a","a"]}"#, nil),
            (#"{"a":"{\"b\":1,\"b\":2}"}"#, nil), (#""a""#, nil), ("[]", nil), ("", nil), (#"{"a":"\\"}"#, nil),
        ] as [(String, String?)])
    func repeated(json: String, name: String?) { #expect(RepeatedMember.first(in: Array(json.utf8)) == name) }

    @Test("A number that is no integer is found by the member that it is in")
    func fraction() {
        let link = RequestSchema(.links, "POST")
        for (body, member) in [
            (#"{"id":"a","lifetime":5.5}"#, "lifetime"), (#"{"lifetime":9223372036854775808}"#, "lifetime"),
            (#"{"lifetime":1e3}"#, nil), (#"{"other":5.5}"#, nil), ("[5.5]", nil),
        ] as [(String, String?)] { #expect(link.fractionalMember(in: Array(body.utf8)) == member, "\(body)") }
        let check = RequestSchema(.verifications, "POST")
        #expect(check.fractionalMember(in: Array(#"{"limitRate":2.5,"sample":2.5}"#.utf8)) == "limitRate")
        #expect(check.fractionalMember(in: Array(#"{"sample":2.5}"#.utf8)) == nil)
    }

    @Test(
        "A body of which one value cannot be read is refused as a whole, so that no misspelt member passes beside it",
        arguments: [
            #"{"dryrun":true,"x":1e999}"#, #"{"dryRun":-1e999}"#, #"{"dryrun":true,"x":"\ud800"}"#, #"{"\udfff":true}"#,
            #"{"maxAge":01,"dryrun":true}"#, "{\"dryrun\":\"\u{0}\"}", "",
        ])
    func unreadable(body: String) {
        let prune = RequestSchema(.prunes, "POST")
        #expect(prune.fault(inBody: Array(body.utf8)) == RequestSchema.unreadable)
        #expect(prune.fault(inBody: Array(#"{"dryRun":true}"#.utf8)) == nil)
    }

    @Test("Unknown and repeated parameters and members are refused by name, and nothing is done")
    func refused() async throws {
        try await RunningService.run(over: try await TestVault(), hasControl: true) { service in
            let before = service.vault.issuedTokens.count
            for (method, target, body, what) in [
                ("GET", "resources?sorted=size", "", "parameter sorted"),
                ("GET", "resources?sort=size&sort=name", "", "parameter sort twice"),
                ("HEAD", "status?x=1", "", nil), ("GET", "status?x=1", "", "parameter x"),
                ("GET", "resources?limit", "", "limit"),
                ("DELETE", "tokens?id=00000000&id=11111111", "", "parameter id twice"),
                ("DELETE", "tokens?all=true&really=false", "", "parameter really"),
                ("POST", "tokens", #"{"scope":"read","scope":"admin"}"#, "member scope twice"),
                ("POST", "tokens", #"{"scope":"read","lifetime":5.5}"#, "body's lifetime must be an integer;"),
                ("POST", "tickets", #"{"x":1}"#, "member x"), ("POST", "tickets", "nonsense", "the body is not"),
                ("PUT", "resources/aaaaaaaa/pin", #"{"x":1}"#, "member x"),
                ("DELETE", "tokens?all=true", #"{"id":"00000000"}"#, "member id"),
                ("POST", "revocations", #"{"dryRun":true}"#, "member dryRun"),
                ("POST", "tokens", #"{"scope":"read","lifetime":"5"}"#, "the body's lifetime must be an integer;"),
                ("POST", "tokens", #"{"scope":7}"#, "the body's scope must be one of "),
                ("POST", "tokens", "{}", "the body lacks the member scope;"),
                ("POST", "shreds", #"{"resources":[{"url":7}]}"#, "the body's resources is not the JSON"),
                ("PUT", "resources/aaaaaaaa/name", #"{"name":7}"#, "the body's name must be a text;"),
                ("PUT", "resources/aaaaaaaa/name", #"{"nam":"New"}"#, "member nam,"),
                ("POST", "tokens", #"{"scop":"read","lifetime":5.5}"#, "member scop,"),
            ] as [(String, String, String, String?)] {
                let answer = try await service.control(method, "/api/v1/\(target)", body: body)
                #expect(answer.head.status == 400, "\(method) \(target) \(body)")
                guard let what else { continue }
                let problem: ProblemDocument = try JSONText.read(from: answer.body)
                #expect(problem.detail?.contains(what) == true, "\(problem.detail ?? "")")
            }
            #expect(service.vault.issuedTokens.count == before)
            for (method, target, body) in [
                ("POST", "tickets", "{}"), ("POST", "tickets", ""), ("GET", "resources?sort=size&limit=5&search=", ""),
            ] {
                #expect(try await service.control(method, "/api/v1/\(target)", body: body).head.status == 200)
            }
        }
    }
}
