import PhotoCore
import SwiftUI

/// Who is in the photos: a face of each, the named first. A tap shows their photos.
struct PeopleView: View {
    @State private var people: [Person]?
    @State private var failure: String?
    @State private var isSure = false
    @AppStorage(Session.findsPeople) private var isWanted = false
    @EnvironmentObject private var session: Session

    var body: some View {
        NavigationStack {
            ScrollView {
                if let failure { Text(failure).foregroundStyle(.red).padding() }
                if isSure { Sure { await forget() } }
                if let people, people.isEmpty { nobody.padding() }
                PeopleGrid(people: people ?? []) { person in
                    NavigationLink(destination: PersonView(person: person)) { PersonSquare(person: person) }
                }
            }
            .navigationTitle("People")
            .toolbar { if people?.isEmpty == false { Button("Forget everybody", systemImage: "trash") { isSure = true } } }
            .task(id: session.screen.isIndexing) { await read() }
        }
    }

    @ViewBuilder private var nobody: some View {
        if !session.hasFaces {
            Text("This model finds no people: export it with `--parts faces`, pack it, and choose it here.")
        } else if isWanted {
            Text("Nobody found yet. The next indexing looks for people in your photos.")
        } else {
            VStack(alignment: .leading) {
                Text("Faces are found and compared on this phone, and only you give names. It takes a while.")
                Button("Find people") {
                    isWanted = true
                    session.index()
                }
            }
        }
    }

    private func read() async {
        do { people = try await Task.detached { try Browsing.people() }.value } catch { failure = "\(error)" }
    }

    private func forget() async {
        (isSure, isWanted, failure) = (false, false, nil)  // before: an indexing must not find them again
        let why = await session.change { try $0.forgetAll($1) }
        await read()
        if let why { failure = why }
    }
}

/// Squares of people. `square`: what one of them is shown as.
struct PeopleGrid<Square: View>: View {
    let people: [Person]
    let square: (Person) -> Square

    var body: some View {
        LazyVGrid(columns: [GridItem(.adaptive(minimum: 110), spacing: 4)], spacing: 4) { ForEach(people) { square($0) } }.padding()
    }
}

/// A person's clearest face, with the name and the number of photos.
struct PersonSquare: View {
    let person: Person
    @State private var image: UIImage?
    private var photos: Int { person.photos.count }
    private var face: StoredFace? { person.faces.max { $0.face.quality < $1.face.quality } }

    var body: some View {
        VStack {
            Color.gray.opacity(0.2)
                .aspectRatio(1, contentMode: .fit)
                .overlay { if let image { Image(uiImage: image).resizable().scaledToFill() } }
                .clipped()
            if let name = person.name { Text("\(name): \(photos)") } else { Text("Who is this?") }
        }
        .task(id: person.row) {
            guard let face else { return }
            let found = await PhotoLibrary.read { PhotoLibrary.face(face.photo, face.face.box) }
            if let found, !Task.isCancelled { image = found }
        }
    }
}

/// The photos of a person, who is named, made the same as another, or forgotten.
struct PersonView: View {
    let person: Person
    @State private var name = ""
    @State private var says: String?
    @State private var isNamed = false
    @State private var isRead = false
    @State private var isSure = false
    @State private var isChoosing = false
    @State private var others: [Person] = []
    @EnvironmentObject private var session: Session
    @Environment(\.dismiss) private var dismiss

    var body: some View {
        VStack(alignment: .leading) {
            TextField("Who is this?", text: $name).padding().onSubmit { Task { await give() } }
            if let says { Text(says).foregroundStyle(.red).padding() }
            if isNamed { Text("Named; searches find it.").padding() }
            if isSure { Sure { await end { try $0.forget($1, person.row) } } }
            ShelfView(scope: .of(person.row))
        }
        .navigationTitle(isNamed ? name : person.name ?? "")
        .toolbar {
            Button("Same as…", systemImage: "person.2") { isChoosing = true }
            Button("Forget…", systemImage: "trash") { isSure = true }
        }
        .sheet(isPresented: $isChoosing) {
            ScrollView {
                PeopleGrid(people: others.filter { $0.row != person.row }) { other in
                    Button {
                        isChoosing = false
                        Task { await end { try $0.merge($1, other.row, person.row) } }
                    } label: {
                        PersonSquare(person: other)
                    }
                }
            }
        }
        .task(id: person.row) {
            if !isRead { name = person.name ?? "" }  // later it may be another one
            isRead = true
            others = (try? await Task.detached { try Browsing.people() }.value) ?? []
        }
    }

    private func give() async {
        let (person, name) = (person.row, name)
        says = await session.change { try $0.name($1, person, name) }
        isNamed = says == nil
    }

    /// Does what ends this person, and then this view.
    private func end(_ change: @escaping @Sendable (Naming, AlbumWriter) throws -> Void) async {
        isSure = false
        says = await session.change(change)
        if says == nil { dismiss() }
    }
}

/// Asks before people are forgotten: what is deleted does not come back.
struct Sure: View {
    let deed: @MainActor () async -> Void

    var body: some View {
        VStack(alignment: .leading) {
            Text("Faces, vectors and the name go for good; the photos stay.")
            Button("Forget it") { Task { await deed() } }
        }
        .padding()
    }
}
