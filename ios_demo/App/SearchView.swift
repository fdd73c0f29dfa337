import PhotoCore
import SwiftUI
import UniformTypeIdentifiers

/// The search screen: an input line, a grid of hits, and above it a message about what is still needed for a
/// search.
struct SearchView: View {
    @EnvironmentObject private var session: Session
    @State private var query = ""
    @State private var isChoosing = false
    @State private var isChecking = false
    // Photos that several things are done with at once; nil while a tap opens one.
    @State private var chosen: Set<String>?
    @State private var opened: String?
    @AppStorage(Session.rewords) private var rewords = false

    var body: some View {
        NavigationStack {
            ScrollView {
                VStack(alignment: .leading) {
                    found
                    if let photos = chosen?.count { Text("Chosen: \(photos)") }
                    if let why = session.screen.refusedBundle, Places.hasBundle { Text(why).foregroundStyle(.red) }
                    notice
                    if PhotoLibrary.access == .chosen {
                        Text("Only the photos that you chose are seen.").font(.footnote)
                        Button("Choose photos") { PhotoLibrary.chooseMore() }
                    }
                }
                .padding()
                LazyVGrid(columns: [GridItem(.adaptive(minimum: 110), spacing: 4)], spacing: 4) {
                    ForEach(hits, id: \.row) { square($0.photo.id) }
                }
            }
            .navigationTitle("GAMER")
            .searchable(text: $query, prompt: "coffee I photographed last spring")
            .onSubmit(of: .search) {
                chosen = nil
                session.search(query)
            }
            .toolbar {
                if chosen == nil { actions } else { Button("Done") { chosen = nil } }
            }
            .toolbar {
                ToolbarItemGroup(placement: .bottomBar) {
                    if let chosen { Deeds(hits.map(\.photo.id).filter(chosen.contains)) { _ in self.chosen = nil } }
                }
            }
            // Of all hits: one that was deleted must have a place among them, from which the next is found.
            .navigationDestination(item: $opened) { PhotoPager(ids: session.answer?.hits.map(\.photo.id) ?? [], first: $0, answer: session.answer) }
            .sheet(isPresented: $isChecking) { CheckView() }
            .fileImporter(isPresented: $isChoosing, allowedContentTypes: [.zip]) { chosen in
                if case .success(let file) = chosen { session.take(file) }
            }
            .task {
                session.look()
                // `-query WORDS` at the launch (ci-mac.sh).
                guard query.isEmpty, let asked = UserDefaults.standard.string(forKey: "query") else { return }
                query = asked
                session.search(asked)
            }
        }
    }

    private var hits: [Hit] { session.answer?.hits.filter { !session.isGone($0.photo.id) } ?? [] }

    @ViewBuilder private var actions: some View {
        if !hits.isEmpty { Button("Choose several", systemImage: "checkmark.circle") { chosen = [] } }
        if let trace = session.answer?.trace { NavigationLink("Trace") { TraceView(trace: trace) } }
        Menu("More", systemImage: "ellipsis.circle") {
            Button("Index", systemImage: "arrow.clockwise") { session.index() }.disabled(!Places.hasBundle)
            Button("Choose a model", systemImage: "shippingbox") { isChoosing = true }
            Toggle("Reword searches with the language model", isOn: $rewords).disabled(!session.hasLanguageModel)
            Button("Check the album", systemImage: "checkmark.shield") { isChecking = true }.disabled(!Places.hasAlbum)
        }
    }

    private func square(_ id: String) -> some View {
        let isChosen = chosen?.contains(id) ?? false
        return Button {
            if let chosen { self.chosen = chosen.symmetricDifference([id]) } else { opened = id }
        } label: {
            Thumbnail(id: id).overlay { if isChosen { Color.blue.opacity(0.5) } }
        }
        .accessibilityAddTraits(isChosen ? .isSelected : [])
    }

    @ViewBuilder private var notice: some View {
        switch session.screen.notice {
        case .unpacking: ProgressView("Unpacking the model, and checking it…")
        case .noBundle(let why):
            VStack(alignment: .leading) {
                if let why { Text(why).foregroundStyle(.red) }
                Text("No model yet. Choose the file that `gamer pack` wrote, or copy a bundle into this app's folder as “bundle”.")
                Button("Choose a model") { isChoosing = true }
            }
        case .noAccess:
            VStack(alignment: .leading) {
                Text("No photo may be seen yet. Photos never leave this phone.")
                Button("Allow photos") { Task { await session.allow() } }
            }
        case .refused: Text("No photo may be seen. Allow it in the system's settings: Privacy, Photos, GAMER. Photos never leave this phone.")
        case .busy: Text("Photos are being indexed in the background already.")
        case .noPhotos: Button("No photos indexed yet. Index now") { session.index() }
        case .indexing(let report, let left):
            ProgressView(value: Double(report.done), total: Double(max(report.total, 1))) {
                VStack(alignment: .leading) {
                    Text("Photos are being indexed")
                    ReportView(report: report)
                    if let left { TimeLeft(minutes: (left + 30) / 60) }
                }
            }
        case .paused(let why, let report):
            VStack(alignment: .leading) {
                switch why {
                case .battery: Text("Indexing waits, to spare the battery, until Low Power Mode is off.")
                case .heat: Text("Indexing waits until the phone is cooler.")
                }
                ReportView(report: report)
            }
        case .failed(let message): Text(message).foregroundStyle(.red)
        case .ready: if let report = session.screen.report { ReportView(report: report) }
        }
    }

    /// What is said of the last search, whatever is said of the indexing.
    @ViewBuilder private var found: some View {
        switch session.screen.search {
        case .none: EmptyView()
        case .running: ProgressView("Searching…")
        case .failed(let message): Text(message).foregroundStyle(.red)
        case .ended:
            if let answer = session.answer {
                ForEach(answer.remarks.indices, id: \.self) { RemarkView(remark: answer.remarks[$0]) }
                if let note = answer.note, !answer.remarks.contains(note) { RemarkView(remark: note) }
                if let number = answer.number, !answer.isDoubtful || answer.note == nil { Text("\(Int(number)) found") }
                if answer.isDoubtful, !answer.hits.isEmpty {
                    Text("Probably not in this album (\(Int(answer.presence * 100)) %); the nearest:")
                }
            }
        }
    }
}

/// What a search left out, or looked for alone.
struct RemarkView: View {
    let remark: Remark
    private var photos: Int { remark.n }

    var body: some View {
        switch remark.code {
        case .anchor: Text("in relation to \(remark.name)")
        case .absentAnchor: Text("The album does not seem to have “\(remark.text.string)”")
        case .noRelated: Text("No such photo in relation to \(remark.name)")
        case .undatedAnchor: Text("The album does not know when “\(remark.text.string)” was")
        case .first: Text("\(remark.name) came first")
        case .elsewhere: Text("no photo in \(remark.name)")
        case .empty: Text("No photos in this album")
        case .favourites: Text("favourites only: \(photos)")
        case .none: Text("No photo: \(remark.text.string)")
        case .line: Text(remark.text.string)
        case .searched: EmptyView()
        case .spelt: Text("spelt: “\(remark.text.string)”")
        case .unpictured, .unpicturedForeign:
            Text("Pictures cannot be searched for “\(remark.text.string)” with this model; memories were")
            if remark.code == .unpicturedForeign { Text("Words of other languages than English need a bundle with dictionaries") }
        case .without: Text("without “\(remark.text.string)”: \(photos) left out")
        case .camera: Text("by \(remark.name): \(photos)")
        case .alone where remark.name != "somebody": Text("\(remark.name) alone: \(photos)")
        case .together where remark.name != "people": Text("together: \(remark.name): \(photos)")
        case .alone, .fact, .medium, .orientation, .together: facet
        }
    }

    @ViewBuilder private var facet: some View {
        switch remark.name {
        case "date": Text("with a date: \(photos)")
        case "flash": Text("with flash: \(photos)")
        case "place": Text("with a place: \(photos)")
        case "text": Text("with text: \(photos)")
        case "receipt": Text("receipts: \(photos)")
        case "screenshot": Text("screenshots: \(photos)")
        case "video": Text("videos: \(photos)")
        case "landscape": Text("landscape: \(photos)")
        case "portrait": Text("portrait: \(photos)")
        case "somebody": Text("one person alone: \(photos)")
        case "people": Text("several people together: \(photos)")
        default: Text("square: \(photos)")
        }
    }
}

/// How far indexing is, and what is particular about some photos.
struct ReportView: View {
    let report: IndexReport

    var body: some View {
        VStack(alignment: .leading) {
            Text("\(report.done) of \(report.total) photos indexed")
            if report.unsearched > 0 { Text("Looking for people: \(report.unsearched) photos left") }
            if report.small > 0 { Text("\(report.small) by their small pictures, as the originals are in the cloud") }
            if report.unread > 0 { Text("\(report.unread) could not be read here and are tried again") }
            if let name = report.skipped.first {
                if report.skipped.count > 1 {
                    Text("\(name) and others failed twice and are left out")
                } else {
                    Text("\(name) failed twice and is left out")
                }
            }
        }
        .font(.footnote)
    }
}

struct TimeLeft: View {
    let minutes: Int
    private var hours: Int { (minutes + 30) / 60 }

    var body: some View {
        if minutes < 1 {
            Text("Less than a minute left")
        } else if minutes < 90 {
            Text("About \(minutes) minutes left")
        } else {
            Text("About \(hours) hours left")
        }
    }
}

/// The picture of a photo on this phone; a grey square if the photo is not here.
struct Thumbnail: View {
    let id: String
    @State private var image: UIImage?
    @State private var taken = ""
    @State private var isVideo = false

    var body: some View {
        Color.gray.opacity(0.2)
            .aspectRatio(1, contentMode: .fit)
            .overlay {
                if let image { Image(uiImage: image).resizable().scaledToFill() }
            }
            .clipped()
            .overlay { if isVideo { Image(systemName: "play.fill").foregroundStyle(.white) } }
            .accessibilityLabel(isVideo ? Text("Video") : Text("Photo"))
            .accessibilityValue(taken)
            .task(id: id) {
                let id = id
                let found = await PhotoLibrary.read { (PhotoLibrary.thumbnail(id), PhotoLibrary.taken(id), PhotoLibrary.isVideo(id)) }
                if let found, !Task.isCancelled { (image, taken, isVideo) = found }
            }
    }
}

/// Checks the album file, repairs what can be, and says so.
struct CheckView: View {
    @State private var lines: [String]?

    var body: some View {
        List {
            if let lines {
                if lines.isEmpty { Text("No damage found") }
                ForEach(lines, id: \.self) { Text($0) }
            } else {
                ProgressView("The album is being checked…")
            }
        }
        .task { lines = await Task.detached { () -> [String] in do { return try Browsing.check() } catch { return ["\(error)"] } }.value }
    }
}

/// Why a photo was found.
struct HitView: View {
    let hit: Hit

    var body: some View {
        List {
            LabeledContent("Likely", value: "\(Int(hit.probability * 100)) %")
            if let memory = hit.memory { LabeledContent("Memory", value: memory) }
            if let clip = hit.clip { LabeledContent("Seen at", value: "\(Int(clip.second)) s") }
            ForEach(hit.parts.filter { $0.value != 0 }, id: \.name) { part in
                LabeledContent(part.name, value: String(format: "%+.2f", part.value))
            }
            if !hit.matched.isEmpty { LabeledContent("Nodes", value: hit.matched.joined(separator: ", ")) }
        }
    }
}

/// What each layer did: the photos left, and milliseconds.
struct TraceView: View {
    let trace: Trace

    var body: some View {
        List {
            ForEach(trace.milliseconds, id: \.layer) { part in
                LabeledContent(part.layer, value: String(format: "%.1f ms", part.spent))
            }
            ForEach(trace.cues + trace.cubeLines, id: \.self) { Text($0) }
            LabeledContent(trace.refinedBy, value: trace.refined)
            LabeledContent("Nodes over δ \(trace.delta.formatted())", value: trace.entities.map(\.name).joined(separator: ", "))
            ForEach(trace.left, id: \.layer) { part in LabeledContent("Photos after \(part.layer)", value: "\(part.photos)") }
            Text(trace.plan)
            Text(trace.models).font(.footnote)
        }
        .navigationTitle("What was done")
    }
}
