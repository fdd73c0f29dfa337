import PhotoCore
import SwiftUI

/// Photos without a query, by their months: the whole album, those of a place, those that are like another, or a person's.
struct ShelfView: View {
    let scope: Scope
    @State private var browsing: Browsing?
    @State private var failure: String?
    @EnvironmentObject private var session: Session

    var body: some View {
        ScrollView {
            if let failure { Text(failure).foregroundStyle(.red).padding() }
            if browsing == nil && !Places.hasAlbum { Text("No photos indexed yet").padding() }
            if let browsing {
                LazyVGrid(columns: [GridItem(.adaptive(minimum: 110), spacing: 4)], alignment: .leading, spacing: 4) {
                    ForEach(browsing.sections) { section in
                        Section {
                            ForEach(section.rows.filter { !session.isGone(browsing.ids[$0]) }, id: \.self) { row in
                                NavigationLink(destination: PhotoPager(ids: around(row, browsing), first: browsing.ids[row])) {
                                    Thumbnail(id: browsing.ids[row])
                                }
                            }
                        } header: {
                            if scope.isByMonth { title(section.month).font(.headline) }
                        }
                    }
                }
            }
        }
        .task(id: scope) {
            let scope = scope
            guard Places.hasAlbum else { return }
            do {
                browsing = try await Task.detached { try Browsing(scope) }.value
                failure = nil
            } catch { failure = "\(error)" }
        }
    }

    @ViewBuilder private func title(_ month: Int?) -> some View {
        if let month { Text(ShelfView.name(month)) } else { Text("Without a date") }
    }

    private static func name(_ month: Int) -> String {
        var style = Date.FormatStyle.dateTime.year().month(.wide)
        style.timeZone = TimeZone(secondsFromGMT: 0) ?? .current
        return Date(timeIntervalSince1970: Double(month) / 1000).formatted(style)
    }

    /// The ids of the photos to swipe through: those near a row of the shelf.
    private func around(_ row: Int, _ browsing: Browsing) -> [String] {
        let rows = browsing.sections.first { $0.rows.contains(row) }?.rows ?? [row]
        let at = rows.firstIndex(of: row) ?? 0
        return rows[max(0, at - 40)..<min(rows.count, at + 40)].map { browsing.ids[$0] }
    }
}

extension Scope {
    fileprivate var isByMonth: Bool {
        switch self {
        case .like, .of: return false
        case .all, .within: return true
        }
    }
}
