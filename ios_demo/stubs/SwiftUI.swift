@_exported import CoreGraphics
import Foundation
@_exported import UIKit
import UniformTypeIdentifiers

// Views

@MainActor @preconcurrency public protocol View {
    associatedtype Body: View
    @ViewBuilder @MainActor @preconcurrency var body: Body { get }
}

public protocol PrimitiveView: View where Body == Never {}
extension PrimitiveView {
    public var body: Never { fatalError() }
}
extension Never: View {
    public var body: Never { fatalError() }
}
extension Optional: View where Wrapped: View {
    public var body: Never { fatalError() }
}

public struct EmptyView: PrimitiveView {
    public nonisolated init() {}
}
public struct TupleView<T>: PrimitiveView {}
public struct Either<First: View, Second: View>: PrimitiveView {}

@resultBuilder public struct ViewBuilder {
    public static func buildBlock() -> EmptyView { EmptyView() }
    public static func buildBlock<Content: View>(_ content: Content) -> Content { content }
    public static func buildBlock<each Content: View>(_ content: repeat each Content) -> TupleView<(repeat each Content)> { TupleView() }
    public static func buildExpression<Content: View>(_ content: Content) -> Content { content }
    public static func buildIf<Content: View>(_ content: Content?) -> Content? { content }
    public static func buildEither<First: View, Second: View>(first: First) -> Either<First, Second> { Either() }
    public static func buildEither<First: View, Second: View>(second: Second) -> Either<First, Second> { Either() }
}

public struct Text: PrimitiveView {
    public init<S: StringProtocol>(_ content: S) {}
}
public struct Label: PrimitiveView {
    public init(_ title: String, systemImage: String) {}
}
public struct Image: PrimitiveView {
    public init(uiImage: UIImage) {}
    public init(systemName: String) {}
    public func resizable() -> Image { self }
}
public struct Color: PrimitiveView, ShapeStyle {
    public static let gray = Color()
    public static let black = Color()
    public static let orange = Color()
    public static let blue = Color()
    public nonisolated init(red: Double, green: Double, blue: Double, opacity: Double = 1) {}
    nonisolated init() {}
    public func opacity(_ share: Double) -> Color { self }
}
public protocol ShapeStyle {}
extension ShapeStyle where Self == Color {
    public static var red: Color { Color() }
    public static var white: Color { Color() }
}

public struct Button<Content: View>: PrimitiveView {
    public init(action: @escaping @MainActor () -> Void, @ViewBuilder label: () -> Content) {}
}
extension Button where Content == Text {
    public init(_ title: String, action: @escaping @MainActor () -> Void) {}
    public init(_ title: String, systemImage: String, action: @escaping @MainActor () -> Void) {}
}
public struct Menu<Content: View>: PrimitiveView {
    public init(_ title: String, systemImage: String, @ViewBuilder content: () -> Content) {}
}
public enum ToolbarItemPlacement: Sendable { case bottomBar }
public struct ToolbarItemGroup<Content: View>: PrimitiveView {
    public init(placement: ToolbarItemPlacement, @ViewBuilder content: () -> Content) {}
}
public struct AccessibilityTraits: SetAlgebra, Sendable {
    public static let isSelected = AccessibilityTraits()
    public init() {}
    public func contains(_ member: AccessibilityTraits) -> Bool { false }
    public func union(_ other: AccessibilityTraits) -> AccessibilityTraits { self }
    public func intersection(_ other: AccessibilityTraits) -> AccessibilityTraits { self }
    public func symmetricDifference(_ other: AccessibilityTraits) -> AccessibilityTraits { self }
    public mutating func insert(_ new: AccessibilityTraits) -> (inserted: Bool, memberAfterInsert: AccessibilityTraits) { (true, new) }
    public mutating func remove(_ member: AccessibilityTraits) -> AccessibilityTraits? { nil }
    public mutating func update(with new: AccessibilityTraits) -> AccessibilityTraits? { nil }
    public mutating func formUnion(_ other: AccessibilityTraits) {}
    public mutating func formIntersection(_ other: AccessibilityTraits) {}
    public mutating func formSymmetricDifference(_ other: AccessibilityTraits) {}
}
public struct Stepper: PrimitiveView {
    public init<V: Strideable>(_ title: String, value: Binding<V>, in bounds: ClosedRange<V>) {}
}
public struct TextField: PrimitiveView {
    public init(_ title: String, text: Binding<String>) {}
}
public struct Toggle: PrimitiveView {
    public init(_ title: String, isOn: Binding<Bool>) {}
}
public struct Picker<Content: View>: PrimitiveView {
    public init<Selection: Hashable>(_ title: String, selection: Binding<Selection>, @ViewBuilder content: () -> Content) {}
}
public struct ForEach<Data: RandomAccessCollection, ID: Hashable, Content: View>: PrimitiveView {
    public init(_ data: Data, @ViewBuilder content: @escaping (Data.Element) -> Content) where Data.Element: Identifiable, ID == Data.Element.ID {}
    public init(_ data: Data, id: KeyPath<Data.Element, ID>, @ViewBuilder content: @escaping (Data.Element) -> Content) {}
}
public struct SharePreview: Sendable {
    public init(_ title: String) {}
    public init(_ title: String, image: Image) {}
}
public protocol TransferRepresentation {}
public struct FileRepresentation<Item>: TransferRepresentation {
    public init(exportedContentType: UTType, exporting: @escaping @Sendable (Item) async throws -> SentTransferredFile) {}
    public func exportingCondition(_ condition: @escaping @Sendable (Item) -> Bool) -> some TransferRepresentation { self }
}
public struct SeveralRepresentations: TransferRepresentation {}
@resultBuilder public enum TransferRepresentationBuilder {
    public static func buildBlock<R: TransferRepresentation>(_ one: R) -> R { one }
    public static func buildBlock<A: TransferRepresentation, B: TransferRepresentation>(_ one: A, _ other: B) -> SeveralRepresentations { SeveralRepresentations() }
}
public struct SentTransferredFile: Sendable {
    public init(_ file: URL) {}
}
public protocol Transferable: Sendable {
    associatedtype Representation: TransferRepresentation
    @TransferRepresentationBuilder static var transferRepresentation: Representation { get }
}
extension String: Transferable {
    public static var transferRepresentation: FileRepresentation<String> { FileRepresentation(exportedContentType: .image) { (_: String) in fatalError() } }
}
public struct ShareLink: PrimitiveView {
    public init<D: RandomAccessCollection>(_ title: String, items: D, preview: @escaping (D.Element) -> SharePreview) where D.Element: Transferable {}
    public init<I: Transferable>(_ title: String, item: I, preview: SharePreview) {}
}
public struct LabeledContent: PrimitiveView {
    public init<S: StringProtocol>(_ title: S, value: S) {}
}
public struct ProgressView<Content: View>: PrimitiveView {
    public init<V: BinaryFloatingPoint>(value: V?, total: V, @ViewBuilder label: () -> Content) {}
}
extension ProgressView where Content == Text {
    public init(_ title: String) {}
}
public struct NavigationLink<Name: View, Destination: View>: PrimitiveView {
    public init(destination: Destination, @ViewBuilder label: () -> Name) {}
}
extension NavigationLink where Name == Text {
    public init(_ title: String, @ViewBuilder destination: () -> Destination) {}
}
public struct GridItem: Sendable {
    public enum Size: Sendable { case adaptive(minimum: CGFloat, maximum: CGFloat = .infinity) }
    public init(_ size: Size, spacing: CGFloat? = nil) {}
}
public struct LazyVGrid<Content: View>: PrimitiveView {
    public init(
        columns: [GridItem], alignment: HorizontalAlignment = .center, spacing: CGFloat? = nil, @ViewBuilder content: () -> Content
    ) {}
}
public struct Section<Parent: View, Content: View>: PrimitiveView {
    public init(@ViewBuilder content: () -> Content, @ViewBuilder header: () -> Parent) {}
}
public enum HorizontalAlignment: Sendable { case leading, center, trailing }
public struct VStack<Content: View>: PrimitiveView {
    public init(alignment: HorizontalAlignment = .center, @ViewBuilder content: () -> Content) {}
}
public struct Container<Content: View>: PrimitiveView {
    public init(@ViewBuilder content: () -> Content) {}
}
public typealias NavigationStack = Container
public typealias Form = Container
public typealias List = Container
public typealias ScrollView = Container
public typealias ZStack = Container
public struct TabView<Selection: Hashable, Content: View>: PrimitiveView {
    public init(selection: Binding<Selection>, @ViewBuilder content: () -> Content) {}
}
extension TabView where Selection == Int {
    public init(@ViewBuilder content: () -> Content) {}
}
public protocol TabViewStyle {}
public struct PageTabViewStyle: TabViewStyle {
    public enum IndexDisplayMode: Sendable { case automatic, always, never }
}
extension TabViewStyle where Self == PageTabViewStyle {
    public static func page(indexDisplayMode: PageTabViewStyle.IndexDisplayMode) -> PageTabViewStyle { PageTabViewStyle() }
}
public struct GeometryProxy {
    public var size: CGSize { .zero }
}
public struct GeometryReader<Content: View>: PrimitiveView {
    public init(@ViewBuilder content: @escaping (GeometryProxy) -> Content) {}
}

// Gestures

@MainActor @preconcurrency public protocol Gesture<Value> {
    associatedtype Value
}
public struct MagnifyGesture: Gesture {
    public struct Value: Equatable, Sendable {
        public var magnification: CGFloat { 1 }
        public var startLocation: CGPoint { .zero }
    }
    public nonisolated init() {}
}
public struct DragGesture: Gesture {
    public struct Value: Equatable, Sendable {
        public var translation: CGSize { .zero }
    }
    public nonisolated init() {}
}
public struct ChangedGesture<Value>: Gesture {}
extension Gesture {
    public func onEnded(_ action: @escaping (Value) -> Void) -> some Gesture<Value> { ChangedGesture<Value>() }
}
extension Gesture where Value: Equatable {
    public func onChanged(_ action: @escaping (Value) -> Void) -> some Gesture<Value> { ChangedGesture<Value>() }
}
public struct GestureMask: OptionSet, Sendable {
    public let rawValue: UInt32
    public init(rawValue: UInt32) { self.rawValue = rawValue }
    public static let subviews = GestureMask(rawValue: 2)
    public static let all = GestureMask(rawValue: 3)
}

// Drawing

public struct Path: Equatable, Sendable {
    public init() {}
    public init(ellipseIn rect: CGRect) {}
    public mutating func addLines(_ lines: [CGPoint]) {}
    public mutating func closeSubpath() {}
}
public struct GraphicsContext {
    public struct Shading: Sendable {
        public static func color(_ color: Color) -> Shading { Shading() }
    }
    public func fill(_ path: Path, with shading: Shading) {}
}
public struct Canvas: PrimitiveView {
    public init(renderer: @escaping (inout GraphicsContext, CGSize) -> Void) {}
}

public enum ContentMode: Sendable { case fit, fill }
public struct Font: Sendable {
    public enum TextStyle: Sendable { case caption2 }
    public static let headline = Font()
    public enum Design: Sendable { case monospaced }
    public static let footnote = Font()
    public static func system(_ style: TextStyle, design: Design? = nil) -> Font { Font() }
}
public struct SubmitTriggers: OptionSet, Sendable {
    public let rawValue: Int
    public init(rawValue: Int) { self.rawValue = rawValue }
    public static let search = SubmitTriggers(rawValue: 1)
}

extension View {
    public func padding() -> some View { self }
    public func tabItem<Content: View>(@ViewBuilder _ label: () -> Content) -> some View { self }
    public func environmentObject<T: ObservableObject>(_ object: T) -> some View { self }
    public func tag<V: Hashable>(_ tag: V) -> some View { self }
    public func disabled(_ isDisabled: Bool) -> some View { self }
    public func font(_ font: Font?) -> some View { self }
    public func lineLimit(_ lines: Int?) -> some View { self }
    public func navigationTitle(_ title: String) -> some View { self }
    public func searchable(text: Binding<String>, prompt: String) -> some View { self }
    public func onSubmit(_ action: @escaping () -> Void) -> some View { self }
    public func onSubmit(of triggers: SubmitTriggers, _ action: @escaping () -> Void) -> some View { self }
    public func fileImporter(
        isPresented: Binding<Bool>, allowedContentTypes: [UTType], onCompletion: @escaping (Result<URL, any Error>) -> Void
    ) -> some View { self }
    public func toolbar<Content: View>(@ViewBuilder content: () -> Content) -> some View { self }
    public func task<T: Equatable>(id: T, @_inheritActorContext _ action: @escaping @Sendable () async -> Void) -> some View { self }
    public func task(@_inheritActorContext _ action: @escaping @Sendable () async -> Void) -> some View { self }
    public func onDisappear(perform: (@MainActor () -> Void)?) -> some View { self }
    public func foregroundStyle<S: ShapeStyle>(_ style: S) -> some View { self }
    public func aspectRatio(_ ratio: CGFloat?, contentMode: ContentMode) -> some View { self }
    public func overlay<Content: View>(@ViewBuilder content: () -> Content) -> some View { self }
    public func scaledToFill() -> some View { self }
    public func clipped() -> some View { self }
    public func frame(width: CGFloat? = nil, height: CGFloat? = nil) -> some View { self }
    public func position(x: CGFloat = 0, y: CGFloat = 0) -> some View { self }
    public func background<S: ShapeStyle>(_ style: S) -> some View { self }
    public func accessibilityLabel(_ label: String) -> some View { self }
    public func accessibilityLabel(_ label: Text) -> some View { self }
    public func accessibilityAddTraits(_ traits: AccessibilityTraits) -> some View { self }
    public func accessibilityValue(_ value: String) -> some View { self }
    public func tabViewStyle<S: TabViewStyle>(_ style: S) -> some View { self }
    public func gesture<G: Gesture>(_ gesture: G, including mask: GestureMask = .all) -> some View { self }
    public func onTapGesture(count: Int = 1, perform action: @escaping (CGPoint) -> Void) -> some View { self }
    public func sheet<Content: View>(isPresented: Binding<Bool>, @ViewBuilder content: @escaping () -> Content) -> some View { self }
    public func navigationDestination<D: Hashable, C: View>(item: Binding<D?>, @ViewBuilder destination: @escaping (D) -> C) -> some View { self }
}

// Scenes

@MainActor @preconcurrency public protocol App {
    associatedtype Body: Scene
    @MainActor @preconcurrency init()
    @SceneBuilder @MainActor @preconcurrency var body: Body { get }
}
extension App {
    public static func main() {}
}
@MainActor @preconcurrency public protocol Scene {}
@resultBuilder public struct SceneBuilder {
    public static func buildBlock<Content: Scene>(_ content: Content) -> Content { content }
}
public struct WindowGroup<Content: View>: Scene {
    public init(@ViewBuilder content: () -> Content) {}
}
extension Scene {
    public func onChange<V: Equatable>(of value: V, initial: Bool = false, _ action: @escaping (V, V) -> Void) -> some Scene { self }
}
public enum ScenePhase: Sendable { case background, inactive, active }
@MainActor public struct DismissAction {
    nonisolated init() {}
    public func callAsFunction() {}
}
public struct EnvironmentValues {
    public var dismiss: DismissAction { DismissAction() }
    public var scenePhase: ScenePhase { .active }
}

// State

public protocol ObservableObject: AnyObject {}

@propertyWrapper public struct Published<Value> {
    public var wrappedValue: Value
    public init(wrappedValue: Value) { self.wrappedValue = wrappedValue }
}
@propertyWrapper public struct Binding<Value> {
    public init() {}
    public var wrappedValue: Value {
        get { fatalError() }
        nonmutating set {}
    }
}
@propertyWrapper public struct State<Value> {
    public init(wrappedValue: Value) {}
    public var wrappedValue: Value {
        get { fatalError() }
        nonmutating set {}
    }
    public var projectedValue: Binding<Value> { Binding() }
}
extension State where Value: ExpressibleByNilLiteral {
    public init() {}
}
@MainActor @preconcurrency @propertyWrapper public struct StateObject<Object: ObservableObject> {
    public nonisolated init(wrappedValue: @autoclosure @escaping () -> Object) {}
    public var wrappedValue: Object { fatalError() }
}
@MainActor @preconcurrency @propertyWrapper public struct EnvironmentObject<Object: ObservableObject> {
    public nonisolated init() {}
    public var wrappedValue: Object { fatalError() }
}
@propertyWrapper public struct Environment<Value> {
    public init(_ path: KeyPath<EnvironmentValues, Value>) {}
    public var wrappedValue: Value { fatalError() }
}
@propertyWrapper public struct AppStorage<Value> {
    public init(wrappedValue: Value, _ key: String) where Value == String {}
    public init(wrappedValue: Value, _ key: String) where Value == Bool {}
    public var wrappedValue: Value {
        get { fatalError() }
        nonmutating set {}
    }
    public var projectedValue: Binding<Value> { Binding() }
}
