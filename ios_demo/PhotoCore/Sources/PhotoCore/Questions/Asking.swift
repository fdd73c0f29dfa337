/// The request that a text makes (runtime/questions/request.py). `words`: of the request, without what only asks. `asks`: "photos",
/// "when", "where", "who", "count" or "fact". `story`: what was told before, to which it refers; `sentence`: the whole of it.
/// `isQuestion`: whether it begins as one; `isClosed`: whether yes or no answers it; `was`: whether that is asked with "was" or "were".
/// `isAsked`: whether photos are asked for. `did`: whether it says what the photographer did. `everything`: whether all that fits is
/// meant ("what else did I …"). `isOfAPhoto`: whether its subject is one ("which photo …").
struct Asking {
    var words: [AskedWord]
    var asks = "photos"
    var story: [AskedWord] = []
    var sentence: [AskedWord] = []
    var isQuestion = false
    var isClosed = false
    var was = false
    var isAsked = false
    var did = false
    var everything = false
    var isOfAPhoto = false
}

/// Tells what of a text is the request, what is told before it, and what is asked for: photos, a time, a number.
struct AskingReader {
    private static let story = 4  // words that a sentence before the request has at least if it is its story
    private static let questions = ["how", "howmany", "when", "where", "which", "who"]

    private let phrases: Phrases
    private let onlyAsking: [String]

    init(_ vocabulary: QuestionVocabulary, _ phrases: Phrases) {
        self.phrases = phrases
        onlyAsking = vocabulary.roles("only_asking")
    }

    /// `start`: the number of words that say what is asked for.
    private struct Beginning {
        var asks = "photos"
        var start = 0
        var isClosed = false
    }

    /// The request that a text makes: of several sentences the last question, else the last that asks.
    func read(_ words: [AskedWord]) -> Asking {
        let marked = sentences(words), sentences = marked.map { $0.filter { !$0.isText("?") } }
        var asking = sentences.indices.filter { requests(sentences[$0]) }
        if asking.isEmpty, let last = sentences.last, let end = marked.last?.last {
            let tells = sentences.dropLast().contains { $0.count > AskingReader.story && isTold($0) }
            // "Somebody made a giant paella. Crowd shots from that same event"
            if tells && (end.isText("?") || !isTold(last)) { asking = [sentences.count - 1] }
        }
        guard let latest = asking.last else { return asked(words.trimmed(), []) }
        let chosen = asking.last { marked[$0].last?.isText("?") == true } ?? latest, sentence = sentences[chosen]
        if chosen > 0 {
            if let asks = onlyAsks(sentence) {
                var before = asked(sentences[chosen - 1], [])
                (before.asks, before.isQuestion) = (asks, true)
                return before
            }
            if onlyRefers(sentence) {
                var before = asked(sentences[chosen - 1], [])
                before.isAsked = true
                return before
            }
        }
        if let told = sentences[..<chosen].last(where: { $0.count > AskingReader.story }) {
            var request = asked(sentence, mainClause(told))
            request.sentence = told
            return request
        }
        let (story, request) = toldBefore(sentence)
        return asked(sentences[..<chosen].flatMap { $0 } + request, story)
    }

    // Sentences and what they refer to

    /// The sentences, without their full stops; a question keeps its mark.
    private func sentences(_ words: [AskedWord]) -> [[AskedWord]] {
        var runs: [[AskedWord]] = [[]]
        for (at, word) in words.enumerated() {
            if !word.isOne(of: ".?!;—–…") && !introduces(words, at) {
                runs[runs.count - 1].append(word)
                continue
            }
            if word.isText("?"), !runs[runs.count - 1].isEmpty { runs[runs.count - 1].append(word) }
            runs.append([])
        }
        return runs.filter { !$0.isEmpty }
    }

    /// A colon before a question or a request.
    private func introduces(_ words: [AskedWord], _ at: Int) -> Bool {
        if !words[at].isText(":") { return false }
        let rest = words.from(at + 1).trimmed("filler")
        guard let first = rest.first else { return false }
        return first.has("aux", "modal", "when", "where", "which", "who") || opening(rest) > 0
    }

    /// Whether a sentence asks for something.
    private func requests(_ sentence: [AskedWord]) -> Bool {
        let plain = sentence.trimmed("filler")
        guard let first = plain.first else { return false }
        if first.has(any: AskingReader.questions) || first.has("aux", "modal", "request") || plain.index(of: "request") != nil { return true }
        return plain.pieces { $0.isOne(of: ",:") }.dropFirst().contains(where: beginsQuestion)
    }

    /// Whether a sentence tells something: somebody did it, or it happened.
    private func isTold(_ sentence: [AskedWord]) -> Bool {
        let plain = sentence.trimmed("filler")
        guard let first = plain.first else { return false }
        return first.has("subject", "aside") || plain.dropFirst().prefix(3).contains { $0.has("aux", "verb") }
    }

    /// "Please show me those."
    private func onlyRefers(_ sentence: [AskedWord]) -> Bool {
        let plain = sentence.trimmed("filler"), opened = opening(plain)
        return opened > 0 && plain.dropFirst(opened).allSatisfy { $0.isMark || $0.has("aux", "courtesy", "filler", "picture", "them", "which") }
    }

    /// "Where was that?"
    private func onlyAsks(_ sentence: [AskedWord]) -> String? {
        let plain = sentence.trimmed("filler")
        if plain.count < 2 || !plain.dropFirst().allSatisfy({ $0.has("aux", "them") }) { return nil }
        return plain[0].has("when") ? "when" : plain[0].has("where") ? "where" : nil
    }

    /// "Sam spilled wine on the carpet, show me the carpet before that": the story, and the request.
    private func toldBefore(_ sentence: [AskedWord]) -> ([AskedWord], [AskedWord]) {
        let pieces = sentence.pieces { $0.isOne(of: ",:") }
        for n in pieces.indices.dropFirst().reversed() {
            let before = pieces[n - 1], piece = pieces[n]
            guard piece[piece.count - 1].has("them"), before.count > AskingReader.story else { continue }
            if opening(piece.trimmed("filler")) > 0 { return (before.trimmed("filler"), piece) }
        }
        return ([], sentence)
    }

    /// What a story is about: what comes after "but", "so" or "then", and of that the first clause.
    private func mainClause(_ sentence: [AskedWord]) -> [AskedWord] {
        let turn = sentence.indices.dropFirst().dropLast(3).last { sentence[$0].isAny("but", "so", "then") }
        var rest = turn.map { sentence.from($0 + 1) } ?? sentence
        for at in rest.indices.dropFirst(3).dropLast(2) where rest[at].isAny("and") || rest[at].isText(",") {
            guard rest[at + 1].has("definite", "subject") || rest[at + 1].isAny("and", "nobody") else { continue }
            rest = Array(rest[..<at])
            break
        }
        let words = rest.trimmed("filler", "link")
        guard words.count > 1 else { return words }
        let isHad = words[0].isAny("we", "i") && words[1].isAny("had") || words[0].isAny("there") && words[1].isAny("was", "is", "were")
        return isHad ? words.from(2) : words  // "we had that awful frost": the frost
    }

    // What is asked for

    private func asked(_ words: [AskedWord], _ story: [AskedWord]) -> Asking {
        let plain = withoutReasons(withoutClosing(words.trimmed("filler"))), opened = opening(plain)
        let tells = plain[..<opened].contains { $0.has("tells") }  // "tell me how many …" is a question
        let body = withoutClosing(plain.from(opened)).trimmed("filler"), existing = existence(body)
        let isAsked = opened > 0 || existing > 0 || words.contains { $0.isAny("please") }
        var rest = body.from(existing)
        var wanted = wanted(rest, isAsked && !tells)
        if existing > 0, wanted.asks == "photos", body[0].isAny("did", "was", "were") {
            wanted = Beginning(asks: "fact", start: 0, isClosed: true)  // "was there a cat …"
        }
        let begins = rest.first.map { $0.has(any: AskingReader.questions) || $0.has("aux") } ?? false
        let late = begins ? nil : lateQuestion(rest)
        if let late { (wanted, rest) = late }
        var request = Asking(words: rest.from(wanted.start), asks: wanted.asks, story: story)
        request.isQuestion = begins || late != nil || wanted.asks != "photos"
        request.isClosed = wanted.isClosed
        request.was = wanted.isClosed && rest.first?.isAny("was", "were") == true
        request.isAsked = isAsked
        request.did = did(rest)
        request.everything = isEverything(rest)
        request.isOfAPhoto = rest.prefix(3).contains { $0.has("picture") }
        return request
    }

    /// The words without a reason before the request: "I'm doing my taxes, so …".
    private func withoutReasons(_ words: [AskedWord]) -> [AskedWord] {
        for at in words.indices.dropFirst(2).dropLast() where words[at].isText(",") || words[at].isAny("so") {
            let rest = words.from(at).trimmed("filler")
            let begins = rest.first.map { $0.has(any: AskingReader.questions) || $0.has("request", "modal") } ?? false
            let asks = begins || !rest.isEmpty && opening(rest) > 0
            if (asks || words[at].isAny("so")) && words[0].has("aside") && phrases.said(words) == 0 { return rest }
        }
        return words
    }

    /// The number of words at the beginning that only ask: "could you kindly show me".
    private func opening(_ words: [AskedWord]) -> Int {
        guard let first = words.first, !first.isAny("me", "us") else { return 0 }  // "me looking for …"
        var end = 0, asks = false
        for (at, word) in words.enumerated() {
            if word.isText(",") && at == end {
                end += 1
                continue
            }
            if at > 0, word.isAny("you"), words[at - 1].has("modal") {
                let verb = verbAfter(words, at)
                if verb > 0 { return verb }
            }
            if !word.has("courtesy", "filler", "modal", "request", "self") && !word.isAny("be", "have") { break }
            if asksHere(words, at) {
                asks = true
            } else if word.isAny("have") || asks && (word.has("modal") || word.isAny("i", "we")) {
                break
            }
            end = at + 1
        }
        return asks ? end : 0
    }

    /// The number of words of "could you VERB me", whatever the verb; 0 where a verb of the vocabulary asks. "Could you count …" keeps its
    /// verb, which says what is asked for.
    private func verbAfter(_ words: [AskedWord], _ you: Int) -> Int {
        guard let verb = words.indices.dropFirst(you + 1).first(where: { !words[$0].has("courtesy", "filler") }) else { return 0 }
        if words[verb].isAny("have") || words[verb].has("request", "seen") { return 0 }
        if words[verb].isAny("count") { return verb }
        let isToMe = verb + 1 < words.count && words[verb + 1].isAny("me", "us")
        return isToMe ? verb + 2 : verb + 1
    }

    private func asksHere(_ words: [AskedWord], _ at: Int) -> Bool {
        let word = words[at], before = words[..<at], last = before.last
        if word.isAny("have"), last?.isAny("i", "me", "us") != true { return false }
        if !word.has("request") && !word.isAny("have") { return false }
        let isModal = before.contains { $0.has("modal") }
        if word.isAny("get"), !isModal, last?.isAny("i", "we") == true { return false }  // "I get emotional"
        // Verbs that ask for photos only after "may I", "I would": "I see the lake" may be a memory.
        if at == 0 || !word.isAny("grateful", "happy", "have", "like", "look", "love", "need", "see", "want") { return true }
        return before.contains { $0.has("modal") || $0.isAny("i", "let", "please", "to", "we", "you") }
    }

    /// The words without what only asks at their end, or is said aside: ", if it is no trouble".
    private func withoutClosing(_ words: [AskedWord]) -> [AskedWord] {
        var left = words
        while let last = left.last {
            if let mark = left.lastIndex(where: \.isMark), isAside(left.from(mark + 1)) {
                left = Array(left[..<mark])
            } else if last.isAny("again", "lol", "nah", "omg", "or", "please", "thank you", "thanks") {
                left.removeLast()
            } else {
                break
            }
        }
        return left
    }

    private func isAside(_ piece: [AskedWord]) -> Bool {
        if piece.count > 1, piece[0].isAny("if"), piece[1].isAny("it", "possible", "that", "you") { return true }
        let opened = opening(piece)
        if piece.count > 1, piece[0].has("aside"), phrases.said(piece) == 0, piece.index(of: "after", "before", "unit") == nil {
            // "…, I must send them to the bookkeeper"
            if opened == 0 || piece[..<opened].contains(where: { $0.has("tells") }) { return true }
        }
        if opened > 0, piece.dropFirst(opened).allSatisfy({ $0.has(any: onlyAsking) }) { return true }  // "…, can you dig that up"
        return piece.allSatisfy { $0.has(any: onlyAsking) }
    }

    /// The number of words of "do you have", "are there", "have I got".
    private func existence(_ words: [AskedWord]) -> Int {
        if words.count > 2, words[2].isAny("still") { return words.count > 3 && words[3].isAny("got", "have") ? 4 : 0 }
        guard let first = words.first else { return 0 }
        if first.isAny("there's") { return 1 }
        if words.count < 2 || !first.has("aux", "modal") || !words[1].isAny("i", "there", "we", "you") { return 0 }
        if words.count > 2, words[2].isAny("be", "got", "have") { return 3 }
        return words[1].isAny("there") ? 2 : 0
    }

    /// "After the concert, who was given the flowers": a question after its circumstances. Its words come after a comma, as the
    /// circumstances' tail.
    private func lateQuestion(_ words: [AskedWord]) -> (Beginning, [AskedWord])? {
        guard let first = words.first else { return nil }
        let isBound = first.has("after", "before", "definite", "preposition", "unit") || first.number > 0
        if isBound && !first.isAny("a", "an") {
            for at in words.indices.dropFirst(3).dropLast(2) where words[at].has("how", "howmany", "which", "who") {
                if !beginsQuestion(words.from(at)) || words[at - 1].has("preposition") || words[at - 1].isMark { continue }
                var wanted = wanted(words.from(at), false)
                let comma = AskedWord(text: [","], key: [","], span: words[at].span, values: [:])
                let rest = Array(words[..<at]) + [comma] + words.from(at + wanted.start)
                wanted.start = 0
                return (wanted, rest)
            }
        }
        for mark in words.indices.dropFirst().dropLast().reversed() where words[mark].isMark {
            let piece = words.from(mark + 1)
            guard beginsQuestion(piece) || beginsClosed(piece) || piece[0].has("howmany") else { continue }
            var wanted = wanted(piece, false)
            let tail = piece.from(wanted.start), isEmpty = tail.allSatisfy { $0.has("aux", "self", "subject", "them") }  // "…, who is he"
            wanted.start = 0
            return (wanted, isEmpty ? Array(words[..<mark]) : Array(words[...mark]) + tail)
        }
        return nil
    }

    private func beginsQuestion(_ words: [AskedWord]) -> Bool {
        let plain = words.trimmed("filler")
        if plain.count < 3 || !plain[0].has(any: AskingReader.questions) { return false }
        return plain[1].has("aux", "picture", "unit") || plain[0].has("which", "who")
    }

    /// "…, did the sweep come first", "…, was there a waterfall".
    private func beginsClosed(_ words: [AskedWord]) -> Bool {
        guard words.count > 3, words[0].isAny("did", "has", "have", "is", "was", "were") else { return false }
        return words[1].has("definite", "subject") || words[1].isAny("there")
    }

    /// What the beginning of a question asks for. `isShown`: "show me what I took" asks no question.
    private func wanted(_ words: [AskedWord], _ isShown: Bool) -> Beginning {
        guard let leading = words.first else { return Beginning() }
        let begin = leading.has("preposition") && words.count > 1 ? 1 : 0
        let first = words[begin], follows = begin + 1 < words.count ? words[begin + 1] : nil
        if leading.has("howmany") || leading.isAny("count", "how much") { return counted(words) }
        if let follows, first.has("which"), follows.has("moment", "place") {
            return Beginning(asks: follows.has("moment") ? "when" : "where", start: begin + 2)
        }
        if let follows, begin == 0, first.has("when", "where") {
            // "When I was eating in Berlin" asks nothing; "where'd we eat" does.
            let tells = follows.has("subject") || follows.isAny("my", "our") || follows.key.has(suffix: "ing")
            if first.lowered != first.key || !tells { return Beginning(asks: first.has("when") ? "when" : "where", start: 1) }
        }
        if first.has("who") { return Beginning(asks: "who", start: begin + 1) }
        if isShown { return Beginning() }
        if leading.has("how", "which") { return ofWhich(words) }
        return leading.has("aux") && words.count > 2 ? Beginning(asks: "fact", start: 1, isClosed: true) : Beginning()
    }

    /// Photos are counted; "how many weeks" and "how much was" ask for a fact.
    private func counted(_ words: [AskedWord]) -> Beginning {
        let follows = words.count > 1 ? words[1] : nil, fact = Beginning(asks: "fact", start: subjectAt(words))
        if words[0].isAny("how much"), follows?.has("picture") != true { return fact }
        if words[0].has("howmany"), follows?.has("duration") == true { return fact }
        return Beginning(asks: "count", start: 1)
    }

    /// "What", "which", "how": photos where photos or what was photographed are meant, else a fact.
    private func ofWhich(_ words: [AskedWord]) -> Beginning {
        let fact = Beginning(asks: "fact", start: subjectAt(words))
        func says(_ keys: String...) -> Bool { words.contains { word in keys.contains { word.isAny($0) } } }
        if let number = words.prefix(4).firstIndex(where: { $0.has("howmany") }), number > 0 {
            return Beginning(asks: "count", start: number + 1)  // "what's the number of …"
        }
        let isContracted = words[0].lowered != words[0].key
        let states = words.count > 1 && words[1].has("article", "subject") && !isContracted
        // "How did it look", "what did the shed look like"
        if !states, says("look", "looked", "looks") { return Beginning(asks: "photos", start: 1) }
        if says("or"), says("first", "earlier") { return Beginning(asks: "fact", start: 1) }
        if words[0].isAny("how") { return states ? Beginning() : fact }  // "how the kitchen looked"
        let noun = words.dropFirst().first { !$0.has("article", "aux", "exactly", "number", "order") }
        let isOfPhotos = words.dropFirst().prefix(3).contains { $0.has("picture") } || noun?.has("one", "picture") == true
        if states || words[0].has("which") && isOfPhotos { return Beginning() }
        let isDone = words.count > 3 && words[1].has("aux") && words[2].isAny("i", "we") && words[3].has("generic")
        let isShot = did(words) && (words.index(of: "made") != nil || says("do", "else", "see", "seen", "up"))
        let came = words.count > 1 && words[1].isAny("else") || words.dropFirst().prefix(3).contains { $0.isAny("came", "comes") }
        return isDone || isShot || came && !says("or") ? Beginning() : fact
    }

    /// Where the subject of "what colour were the roses" begins.
    private func subjectAt(_ words: [AskedWord]) -> Int { words.prefix(6).firstIndex { $0.has("aux") }.map { $0 + 1 } ?? 1 }

    /// Whether the words say what the photographer did: "did I", "I saw".
    private func did(_ words: [AskedWord]) -> Bool {
        words.indices.contains { at in
            words[at].isAny("i", "we") && (at > 0 && words[at - 1].has("aux") || at + 1 < words.count && words[at + 1].has("seen"))
        }
    }

    /// "What else did I photograph", "how many", "which dogs did I see".
    private func isEverything(_ words: [AskedWord]) -> Bool {
        guard let first = words.first, first.has("howmany", "which") else { return false }
        if first.has("howmany") || first.isAny("what") && did(words) { return true }
        return words.count > 2 && first.isAny("which") && words[1].key.has(suffix: "s") && words[2].has("aux")
    }
}
