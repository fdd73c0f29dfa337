/// A place that the query names. `boxes`: the place's extent, open in time. `span`: its characters in the
/// query, preposition included. `kind`: city, region, country or home. `photos`: the number of the album's
/// photos there, nil if no album was given. A place without photos does not restrict the search; its name
/// stays in the text, since a memory may mention it.
public struct PlaceCue: Sendable, Equatable {
    public var text: String
    public let name: String
    public let boxes: [Cube]
    public var span: Range<Int>
    public let kind: String
    public let photos: Int?
    public let confidence: Double
}
