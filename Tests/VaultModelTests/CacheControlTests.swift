import SeededRandom
import Testing
import VaultModel

@Suite("Cache-Control (RFC 9111 §5.2.2)")
struct CacheControlTests {
    @Test(
        "max-age is in seconds; the least of several counts, and an invalid number counts as 0",
        arguments: [
            (["max-age=60"], 60), (["Max-Age=60"], 60), (["max-age=\"60\""], 60), (["public , max-age = 60 "], 60),
            (["max-age=60, max-age=30"], 30), (["max-age=60", "max-age=90"], 60), (["max-age=0"], 0),
            (["max-age"], 0), (["max-age="], 0), (["max-age=-1"], 0), (["max-age=1.5"], 0), (["max-age=soon"], 0),
            (["max-age=99999999999999999999"], .max), (["a=\"x, max-age=1\", max-age=60"], 60),
            (["a=\"\\\", max-age=1\", max-age=60"], 60),
        ] as [([String], Int64)])
    func maxAge(lines: [String], seconds: Int64) { #expect(CacheControl(lines).maxAge == seconds) }

    @Test(
        "No other directive is a max-age",
        arguments: [[], [""], [",,"], ["s-maxage=60"], ["xmax-age=60"], ["\"max-age=60\""]])
    func none(lines: [String]) {
        #expect(CacheControl(lines) == CacheControl([]))
    }

    @Test("no-cache and no-store require revalidation each time; no-cache of single fields does not")
    func noCache() {
        for line in ["no-cache", "NO-CACHE", "max-age=60,no-cache", "no-store", "private, no-store"] {
            #expect(CacheControl([line]).isNoCache, "\(line)")
        }
        #expect(!CacheControl(["no-cache=\"Set-Cookie\", max-age=1"]).isNoCache)
    }

    @Test("must-revalidate and immutable are recognized in any spelling; proxy-revalidate is ignored")
    func flags() {
        let both = CacheControl(["Must-Revalidate", "IMMUTABLE"])
        #expect(both.mustRevalidate && both.isImmutable)
        #expect(!CacheControl(["proxy-revalidate"]).mustRevalidate)
    }

    @Test("Invalid text of any kind is read without a trap")
    func nonsense() {
        let seed = UInt64.random(in: 0 ... .max)
        print("CacheControlTests: seed \(seed)")
        var random = SeededGenerator(seed: seed)
        let alphabet = Array("max-age=no,che\"\\ 09\u{0}é")
        for _ in 0..<5000 {
            let count = Int.random(in: 0...40, using: &random)
            let control = CacheControl([String((0..<count).compactMap { _ in alphabet.randomElement(using: &random) })])
            #expect(control.maxAge ?? 0 >= 0)
        }
    }
}
