/// A set of elements, such as listeners or tasks. Adding an element returns a number, by which it is later removed.
package struct NumberedSet<Element> {
    private var elements: [Int: Element] = [:]
    private var last = 0

    package init() {}

    /// The elements, in no particular order.
    package var all: [Element] { Array(elements.values) }

    /// Adds an element and returns its number, which is never reused.
    package mutating func add(_ element: Element) -> Int {
        last += 1
        elements[last] = element
        return last
    }

    /// Removes the element with a number, if it is still there.
    package mutating func remove(_ number: Int) { elements[number] = nil }

    /// Removes all elements and returns them.
    package mutating func removeAll() -> [Element] {
        defer { elements = [:] }
        return all
    }

    /// Changes the element with a number in place; returns nil if it is no longer there.
    package mutating func change<Result>(_ number: Int, _ body: (inout Element) -> Result) -> Result? {
        elements.index(forKey: number).map { body(&elements.values[$0]) }
    }

    /// Changes every element in place.
    package mutating func changeAll(_ body: (inout Element) -> Void) {
        for index in elements.values.indices { body(&elements.values[index]) }
    }
}

extension NumberedSet: Sendable where Element: Sendable {}
