import PhotoCore
import SwiftUI

/// Where the album's photos were taken: dots over the outlines of the land. A tap shows the photos of a place. Nothing is
/// fetched.
struct PlacesView: View {
    @State private var land: WorldMap?
    @State private var cells: [Cell] = []
    @State private var zoom: Zoom?
    @State private var begun: Zoom?
    @State private var chosen: Scope?
    @State private var failure: String?
    // Units of the drawing from west to east, and times the whole world.
    private static let world = 1024.0
    private static let closest = 1000.0
    private static let finger = 24.0

    var body: some View {
        NavigationStack {
            GeometryReader { room in
                Canvas { context, _ in draw(&context) }
                    .background(Color(red: 0.86, green: 0.9, blue: 0.93))
                    .gesture(pinch)
                    .gesture(drag)
                    .onTapGesture(count: 1) { at in open(at) }
                    .accessibilityLabel("Map")
                    .task(id: room.size) {
                        zoom = Zoom(
                            Zoom.Size(room.size.width, room.size.height), Zoom.Size(PlacesView.world, PlacesView.world), most: PlacesView.closest)
                    }
            }
            .overlay {
                if let failure { Text(failure).foregroundStyle(.red) }
                if cells.isEmpty && failure == nil { Text("No photos with a place yet") }
            }
            .navigationTitle("Map")
            .navigationDestination(item: $chosen) { ShelfView(scope: $0) }
            .task { await read() }
        }
    }

    private func read() async {
        guard Places.hasAlbum else { return }
        do {
            let found = try await Task.detached {
                let album = try Album(Places.album.path)
                defer { album.close() }
                return (try WorldMap(try String(contentsOfFile: Places.land, encoding: .utf8)), try Shelf.cells(album))
            }.value
            (land, cells, failure) = (found.0, found.1, nil)
        } catch { failure = "\(error)" }
    }

    private func draw(_ context: inout GraphicsContext) {
        guard let zoom else { return }
        func point(_ at: MapPoint, turn: Double = 0) -> CGPoint {
            CGPoint(x: zoom.x + (at.x + turn) * PlacesView.world * zoom.scale, y: zoom.y + at.y * PlacesView.world * zoom.scale)
        }
        for ring in land?.rings ?? [] {
            for turn in [-1.0, 0, 1] {  // land that crosses the antimeridian runs on beyond the map
                var path = Path()
                path.addLines(ring.map { point($0, turn: turn) })
                path.closeSubpath()
                context.fill(path, with: .color(Color(red: 0.73, green: 0.77, blue: 0.69)))
            }
        }
        for cell in cells {
            let at = point(MapPoint(lat: cell.lat, lon: cell.lon))
            let radius = min(7, 2.4 + log2(Double(cell.rows.count)) * 0.6)
            let box = CGRect(x: at.x - radius, y: at.y - radius, width: 2 * radius, height: 2 * radius)
            context.fill(Path(ellipseIn: box), with: .color(.orange))
        }
    }

    private func open(_ at: CGPoint) {
        guard let zoom else { return }
        let under = cells.filter { cell in
            let point = MapPoint(lat: cell.lat, lon: cell.lon)
            let right = zoom.x + point.x * PlacesView.world * zoom.scale - at.x
            let down = zoom.y + point.y * PlacesView.world * zoom.scale - at.y
            return (right * right + down * down).squareRoot() < PlacesView.finger
        }
        if !under.isEmpty { chosen = .within(Set(under.map(\.square))) }
    }

    private var pinch: some Gesture {
        MagnifyGesture()
            .onChanged { found in
                begun = begun ?? zoom
                zoom = begun?.by(found.magnification, found.startLocation.x, found.startLocation.y)
            }
            .onEnded { _ in begun = nil }
    }

    private var drag: some Gesture {
        DragGesture()
            .onChanged { found in
                begun = begun ?? zoom
                zoom = begun?.moved(found.translation.width, found.translation.height)
            }
            .onEnded { _ in begun = nil }
    }
}
