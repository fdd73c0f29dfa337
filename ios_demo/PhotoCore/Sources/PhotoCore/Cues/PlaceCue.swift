/// A place that the query names. `boxes`: its extent, open in time. `span`: its characters in the query, with the preposition. `kind`: city, region,
/// country or home. `photos`: how many of the album's photos lie there, nil when no album was asked. A place without photos cuts nothing: its name
/// stays in the text, where a memory may know it.
public struct PlaceCue: Sendable, Equatable {
    public var text: String
    public let name: String
    public let boxes: [Cube]
    public var span: Range<Int>
    public let kind: String
    public let photos: Int?
    public let confidence: Double
}
