import Testing

@Suite("JSON on the wire")
struct WireFormTests {
    @Test("Each document and report keeps its members, and its nulls", arguments: WireForm.all)
    func golden(form: WireForm) throws {
        #expect(try form.roundTrip(form.full) == form.full)
        #expect(try form.roundTrip(form.minimal) == form.minimal)
    }
}
