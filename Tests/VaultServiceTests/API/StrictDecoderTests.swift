import MediaVault
import Testing
import VaultModel
import VaultTestSupport

@testable import VaultService

@Suite("Requests have what their operation knows, and no more", .timeLimit(.minutes(5)))
struct StrictDecoderTests {
    @Test("A query has only names that its request knows, each once")
    func query() {
        let known: Set = ["after", "limit", "sort", "filter", "search"]
        func fault(_ names: [String]) -> String? { APIRequest.fault(inQuery: names, among: known) }
        #expect(fault([]) == nil && fault(["sort", "limit", "search"]) == nil)
        #expect(fault(["sort", "sorted"])?.hasPrefix("the query has the parameter sorted, which") == true)
        #expect(fault(["sort", "limit", "sort"]) == "the query has the parameter sort twice")
        // A name that is not a plain word is not repeated, because it may be a misplaced secret.
        for name in ["", "a b", "mvt_x.y", String(repeating: "a", count: 33), "\u{202E}"] {
            #expect(fault([name])?.hasPrefix("the query has a parameter, which") == true)
        }
    }

    @Test("Every request keeps all of its members", arguments: WireForm.requests)
    func golden(form: WireForm) throws {
        #expect(try form.strictRoundTrip(form.full) == form.full)
        #expect(try form.strictRoundTrip(form.minimal) == form.minimal)
    }

    @Test(
        "Every request refuses a member that it does not know, before one that it lacks", arguments: WireForm.requests)
    func unknown(form: WireForm) throws {
        let known = try #require(APIDescription.schema(form.schema)?["properties"]).members.keys
        for text in ["{", form.full == "{}" ? "{" : String(form.full.dropLast()) + ","] {
            let body = text + #""strange":[{"x":1}]}"#
            #expect(throws: StrictDecoder.Fault.unknown("strange")) { try form.strictRoundTrip(body) }
        }
        #expect(!known.contains("strange") && !known.isEmpty)
    }

    @Test("Every request names a required member that it lacks", arguments: WireForm.requests)
    func missing(form: WireForm) throws {
        let required = try #require(APIDescription.schema(form.schema))["required"]?.elements.compactMap(\.text) ?? []
        for name in required {
            var members = try JSONObject(JSONParser.parse(Array(form.minimal.utf8), numbers: .all), name: "")
            #expect(members[name] != nil)
            members[name] = nil
            let body = String(decoding: JSONValue.object(members.members).canonical, as: UTF8.self)
            #expect(throws: StrictDecoder.Fault.missing(name)) { try form.strictRoundTrip(body) }
        }
    }

    private static func decode<Value: Decodable>(_ type: Value.Type, _ body: String) throws -> Value {
        try StrictDecoder.decode(type, from: Array(body.utf8))
    }

    @Test(
        "The member that an object has twice is named, however it is written, and wherever it is",
        arguments: [
            (#"{"scope":"read","scope":"admin"}"#, "scope"), (#"{"a":{"b":1,"c":2,"b":3}}"#, "b"),
            (#"{"scope":1,"s\u0063ope":2}"#, "scope"), (#"[{"x":1},{"x":1,"y":[],"x":1}]"#, "x"),
            (#"{"a":"b" , "c":"d", "a" :1}"#, "a"), (#"{"a":"\"","a":1}"#, "a"), (#"{"\\":1,"\\":2}"#, #"\"#),
            (#"{"a":1,"A":1,"b":{"a":1},"c":[{"a":1},{"a":1}]}"#, nil), (#"{"a":"a","b":["a","a"]}"#, nil),
            (#"{"a":"{\"b\":1,\"b\":2}"}"#, nil), (#""a""#, nil), ("[]", nil), (#"{"a":"\\"}"#, nil),
        ] as [(String, String?)])
    func repeated(json: String, name: String?) {
        guard let name else {
            #expect(throws: Never.self) { try Self.decode(JSONTree.self, json) }
            return
        }
        #expect(throws: StrictDecoder.Fault.repeated(name)) { try Self.decode(JSONTree.self, json) }
    }

    @Test("A number that is not an integer is found by the member that it is in")
    func fraction() throws {
        for (body, member) in [
            (#"{"id":"k3v7q2ma","lifetime":5.5}"#, "lifetime"), (#"{"lifetime":9223372036854775808}"#, "lifetime"),
            (#"{"lifetime":-1e20}"#, "lifetime"), (#"{"lifetime":-9223372036854775809}"#, "lifetime"),
            (#"{"lifetime":9007199254740993.0}"#, "lifetime"),
        ] {
            #expect(throws: StrictDecoder.Fault.wrong(member, expectation: "an integer"), "\(body)") {
                try Self.decode(LinkOrder.self, body)
            }
        }
        #expect(try Self.decode(LinkOrder.self, #"{"lifetime":1e3}"#).details.lifetime == 1000)
        #expect(try Self.decode(LinkOrder.self, #"{"lifetime":-5.0}"#).details.lifetime == -5)
        #expect(throws: StrictDecoder.Fault.unreadable) { try Self.decode(LinkOrder.self, "[5.5]") }
        #expect(throws: StrictDecoder.Fault.wrong("limitRate", expectation: "an integer")) {
            try Self.decode(VerificationRequest.self, #"{"limitRate":2.5,"sample":2.5}"#)
        }
        #expect(try Self.decode(VerificationRequest.self, #"{"sample":2.5}"#).options.sample == 2.5)
        #expect(try Self.decode(VerificationRequest.self, #"{"sample":2}"#).options.sample == 2)
    }

    @Test("A member of another type is named, with what it must be if that can be said in a few words")
    func mistyped() {
        func fault<Value: Decodable>(_ type: Value.Type, _ body: String) -> String? {
            do {
                _ = try Self.decode(type, body)
                return nil
            } catch {
                return (error as? StrictDecoder.Fault)?.message
            }
        }
        #expect(
            fault(TokenOrder.self, #"{"scope":"read","expires":5}"#)?.hasSuffix(
                "expires must be a time such as 2027-01-31T00:00:00Z") == true)
        #expect(fault(ShredRequest.self, #"{"resources":5}"#) == "the body's resources must be an array")
        #expect(fault(SettingsChange.self, #"{"mapHost":["a"]}"#) == "the body's mapHost must be an object")
        #expect(fault(SettingsChange.self, #"{"allowHost":{"a":5}}"#)?.hasPrefix("the body's allowHost is not") == true)
        #expect(fault(SettingsChange.self, #"{"mapHost":{"a":null,"b":"c"}}"#) == nil)
        #expect(fault(NameDetails.self, #"{"name":{"a":null}}"#) == "the body's name must be a text")
        #expect(fault(PositionOrder.self, #"{"seconds":"5"}"#) == "the body's seconds must be a number")
        #expect(
            fault(ShareOrder.self, #"{"resources":["k3v7q2ma"],"shared":1,"viewer":null}"#)?.hasSuffix(
                "shared must be true or false") == true)
        #expect(
            fault(ShareOrder.self, #"{"resources":["no id"],"shared":true,"viewer":null}"#)?.hasPrefix(
                "the body's resources is not") == true)
        #expect(fault(TokenOrder.self, #"{"scope":null}"#)?.hasPrefix("the body's scope must be one of ") == true)
        #expect(fault(TokenOrder.self, #"{"scope":"all"}"#)?.hasPrefix("the body's scope must be one of ") == true)
    }

    @Test(
        "A body of which one value cannot be read is refused as a whole, so that no misspelt member passes beside it",
        arguments: [
            #"{"dryrun":true,"x":1e999}"#, #"{"dryRun":-1e999}"#, #"{"dryrun":true,"x":"\ud800"}"#, #"{"\udfff":true}"#,
            #"{"maxAge":01,"dryrun":true}"#, "{\"dryrun\":\"\u{0}\"}", "", "{\"dryRun\":true}x",
            String(repeating: "[", count: 100_000), #"{"dryRun":true,}"#, #"{"maxAge":1e-400}"#, #"{"maxAge":-0e1x}"#,
        ])
    func unreadable(body: String) throws {
        #expect(throws: StrictDecoder.Fault.unreadable) { try Self.decode(LimitsDocument.self, body) }
        for good in [#"{"dryRun":true}"#, "\u{FEFF}{\"dryRun\":true}", #"{"dryRun":true,"maxAge":0e9}"#] {
            #expect(try Self.decode(LimitsDocument.self, good).dryRun == true)
        }
    }

    /// Records what it was decoded from, but does not retain it.
    private struct Probe: Decodable {
        weak var node: AnyObject?
        let hadNode: Bool

        init(from decoder: any Decoder) throws {
            _ = try decoder.singleValueContainer().decode(String.self)
            node = Mirror(reflecting: decoder).descendant("node").map { $0 as AnyObject }
            hadNode = node != nil
        }
    }

    @Test("Nothing of a body stays in memory once it is decoded")
    func released() throws {
        let probes = try Self.decode([String: [Probe]].self, #"{"a":["x","y"],"b":["z"]}"#)
        for probe in probes.values.flatMap(\.self) {
            #expect(probe.hadNode, "premise: the decoder holds what it decodes")
            #expect(probe.node == nil)
        }
        #expect(probes.count == 2)
    }

    @Test("Unknown and repeated parameters and members are refused by name, and nothing is done")
    func refused() async throws {
        try await RunningService.run(over: try await TestVault(), hasControl: true) { service in
            let before = service.vault.access.issuedTokens.count
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
                ("PUT", "resources/aaaaaaaa/name", #"{"id":"aaaaaaaa","name":"New"}"#, "member id,"),
                ("POST", "tokens", #"{"scop":"read","lifetime":5.5}"#, "member scop,"),
            ] as [(String, String, String, String?)] {
                let answer = try await service.control(method, "/api/v1/\(target)", body: body)
                #expect(answer.head.status == 400, "\(method) \(target) \(body)")
                guard let what else { continue }
                let problem: ProblemDocument = try JSONText.read(from: answer.body)
                #expect(problem.detail?.contains(what) == true, "\(problem.detail ?? "")")
            }
            #expect(service.vault.access.issuedTokens.count == before)
            for (method, target, body) in [
                ("POST", "tickets", "{}"), ("POST", "tickets", ""), ("GET", "resources?sort=size&limit=5&search=", ""),
            ] {
                #expect(try await service.control(method, "/api/v1/\(target)", body: body).head.status == 200)
            }
        }
    }
}
