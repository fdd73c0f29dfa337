import PhotoCore
import SwiftUI
import UIKit

/// Photos on the whole screen, to swipe through: zoomed by two fingers or a double tap, shared, with the reasons why one
/// was found. A video plays from where the search found what is meant.
struct PhotoPager: View {
    let ids: [String]
    private let answer: Answer?
    @State private var shown: String
    @State private var isExplaining = false
    @EnvironmentObject private var session: Session
    @Environment(\.dismiss) private var dismiss

    /// `answer`: that the photos are hits of; nil for photos of the timeline.
    init(ids: [String], first: String, answer: Answer? = nil) {
        self.ids = ids
        self.answer = answer
        _shown = State(wrappedValue: first)
    }

    var body: some View {
        TabView(selection: $shown) {
            ForEach(left, id: \.self) { id in PhotoPage(id: id, second: second(id), isShown: shown == id).tag(id) }
        }
        .tabViewStyle(.page(indexDisplayMode: .never))
        .background(Color.black)
        .toolbar {
            if let hit { Button("Why?") { isExplaining = true }.sheet(isPresented: $isExplaining) { HitView(hit: hit) } }
            NavigationLink("Similar photos") { ShelfView(scope: .like(shown)).navigationTitle("Similar photos") }
        }
        .toolbar { ToolbarItemGroup(placement: .bottomBar) { Deeds([shown]) { if $0.contains(shown) { leave(shown) } } } }
        .task { if session.isGone(shown) { leave(shown) } }
    }

    /// From where a video is played.
    private func second(_ id: String) -> Double {
        answer?.hits.first { $0.photo.id == id }?.clip?.second ?? Double(ClipPart(named: id)?.start ?? 0) / 1_000
    }

    private var left: [String] { ids.filter { !session.isGone($0) } }

    /// Shows the photo behind one that was deleted, or the one before the last.
    private func leave(_ id: String) {
        let at = ids.firstIndex(of: id) ?? 0
        guard let next = ids[at...].first(where: left.contains) ?? ids[..<at].last(where: left.contains) else { return dismiss() }
        shown = next
    }

    private var hit: Hit? { answer?.hits.first { $0.photo.id == shown } }
}

/// One photo that can be zoomed and moved; a grey square if it is not on this phone.
struct ZoomedPhoto: View {
    let id: String
    @State private var image: UIImage?
    @State private var zoom: Zoom?
    // As it was when the fingers came down.
    @State private var begun: Zoom?

    var body: some View {
        GeometryReader { room in
            ZStack {
                if let image, let zoom {
                    let (width, height) = (zoom.picture.width * zoom.scale, zoom.picture.height * zoom.scale)
                    Image(uiImage: image)
                        .resizable()
                        .frame(width: width, height: height)
                        .position(x: zoom.x + width / 2, y: zoom.y + height / 2)
                        .gesture(pinch)
                        .gesture(drag, including: zoom.isWhole ? .subviews : .all)
                        .onTapGesture(count: 2) { at in self.zoom = zoom.by(zoom.isWhole ? 3 : 1 / Zoom.most, at.x, at.y) }
                } else {
                    Color.gray.opacity(0.2)
                }
            }
            .task(id: room.size) {
                let (id, size) = (id, Zoom.Size(room.size.width, room.size.height))
                guard let found = await PhotoLibrary.read({ PhotoLibrary.whole(id) }), !Task.isCancelled else { return }
                image = found
                zoom = Zoom(size, Zoom.Size(found.size.width, found.size.height))
            }
        }
        .accessibilityLabel("Photo")
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
