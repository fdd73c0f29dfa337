import SwiftUI

/// The app: search, the trace of a search, a benchmark. Indexing runs in the background (Indexing.swift).
@main
struct GamerApp: App {
    @StateObject private var session = Session()
    @Environment(\.scenePhase) private var phase

    init() {
        Indexing.register()
        PhotoLibrary.forgetShared()
        #if DEBUG
            Measuring.begin()
        #endif
    }

    var body: some Scene {
        WindowGroup {
            TabView {
                SearchView().tabItem { Label("Search", systemImage: "magnifyingglass") }
                NavigationStack { ShelfView(scope: .all).navigationTitle("Timeline") }.tabItem { Label("Timeline", systemImage: "photo.stack") }
                PeopleView().tabItem { Label("People", systemImage: "person.2") }
                PlacesView().tabItem { Label("Map", systemImage: "map") }
                BenchView().tabItem { Label("Benchmark", systemImage: "speedometer") }
            }
            .environmentObject(session)
        }
        .onChange(of: phase) { _, now in
            if now == .background {
                Indexing.schedule()
                session.leave()
            }
            if now == .active, !Measuring.isAsked { session.resume() }
        }
    }
}
