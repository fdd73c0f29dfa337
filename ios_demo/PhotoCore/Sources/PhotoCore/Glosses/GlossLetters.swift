import Foundation

/// Words of other scripts in Latin letters, and names that sound alike: "Кэролайн" is Caroline
/// (runtime/glosses/letters.py). Letters are turned one by one: Cyrillic, Greek, Arabic, kana and Hangul. What sounds
/// alike is compared by consonants, because vowels, endings of cases and spellings differ between languages.
public enum GlossLetters {
    private static let letters: [Unicode.Scalar: Text] = {
        let listed = (
            "а a б b в v г g д d е e ж zh з z и i й i к k л l м m н n о o п p р r с s т t у u ф f х h ц ts ч ch "
                + "ш sh щ shch ъ _ ы y ь _ э e ю yu я ya і i ї yi є ye ґ g ў u ј j љ lj њ nj ћ c ђ dj џ dz ё e α a β v "
                + "γ g δ d ε e ζ z η i θ th ι i κ k λ l μ m ν n ξ x ο o π p ρ r σ s ς s τ t υ y φ f χ ch ψ ps ω o ا a "
                + "ب b ت t ث th ج j ح h خ kh د d ذ dh ر r ز z س s ش sh ص s ض d ط t ظ z ع a غ gh ف f ق q ك k ل l م m "
                + "ن n ه h و w ي y ى a ة a ء _ آ a أ a إ i پ p چ ch ژ zh گ g ک k ی y"
        ).scalars.words()
        return Dictionary(
            stride(from: 0, to: listed.count, by: 2).map { (listed[$0][0], listed[$0 + 1].filter { $0 != "_" }) }, uniquingKeysWith: { $1 })
    }()
    private static let kana = (
        "a a i i u u e e o o ka ga ki gi ku gu ke ge ko go sa za si zi su zu se ze so zo ta da ti di tu tu du te de to do "
            + "na ni nu ne no ha ba pa hi bi pi hu bu pu he be pe ho bo po ma mi mu me mo ya ya yu yu yo yo ra ri ru re ro wa wa wi we wo n "
            + "vu ka ke va vi ve vo"
    ).scalars.words()
    private static let smallKana = "ku si su to nu ha hi hu he ho mu ra ri ru re ro".scalars.words()
    private static func parts(_ text: String) -> [Text] { text.split(separator: ",", omittingEmptySubsequences: false).map { Array($0.unicodeScalars) } }
    private static let leads = parts("g,gg,n,d,dd,r,m,b,bb,s,ss,,j,jj,c,k,t,p,h")
    private static let vowelsOfHangul = parts("a,ae,ya,yae,eo,e,yeo,ye,o,wa,wae,oe,yo,u,weo,we,wi,yu,eu,yi,i")
    private static let tails = parts(",g,gg,gs,n,nj,nh,d,l,lg,lm,lb,ls,lt,lp,lh,m,b,bs,s,ss,ng,j,c,k,t,p,h")
    private static let vowels = Set("aeiou".utf8)
    /// What is said alike, one after the other: each of `from`, if one of `before` follows, becomes `to`.
    private static let alike: [(from: [[UInt8]], to: [UInt8])] = [
        ("shch,sch,sh,tsch,ch,zh,ts", "s"), ("ph", "f"), ("ck,kh,q,c", "k"), ("x", "ks"), ("w", "v"), ("z", "s"), ("h", ""),
    ].map { (parts($0.0).map(\.utf8), Array($0.1.utf8)) }

    /// A word in Latin letters, lower case and without accents; letters that are not known are left out.
    public static func latin(_ word: Text) -> Text {
        let composed = word.allSatisfy(\.isASCII) ? word : word.string.precomposedStringWithCanonicalMapping.scalars
        return composed.casefolded().flatMap(latin)
    }

    private static func latin(_ letter: Unicode.Scalar) -> Text {
        let value = Int(letter.value)
        switch value {
        case 0..<0x80: return letter == "_" ? [] : [letter]
        case 0x3041...0x3096: return kana[value - 0x3041]
        case 0x30a1...0x30fa: return kana[value - 0x30a1]
        case 0x31f0...0x31ff: return smallKana[value - 0x31f0]
        case 0xac00...0xd7a3:
            let at = value - 0xac00
            return leads[at / 588] + vowelsOfHangul[at % 588 / 28] + tails[at % 28]
        default:
            if let known = letters[letter] { return known }
            let plain = String(letter).decomposedStringWithCanonicalMapping.unicodeScalars.first ?? letter
            return letters[plain] ?? (plain.isASCII && plain != "_" ? [plain] : [])
        }
    }

    /// A word in Latin letters with letters that sound alike as one: "caroline" and "kerolain" are near.
    public static func spoken(_ latin: Text) -> [UInt8] {
        var text = soft(latin.lowered().utf8)
        for (from, to) in alike { text = replacing(text, from, to) }
        text = text.filter { (0x61...0x7a).contains($0) }.map { $0 == UInt8(ascii: "y") ? UInt8(ascii: "i") : $0 }
        return text.indices.filter { $0 == 0 || text[$0] != text[$0 - 1] }.map { text[$0] }
    }

    /// With j for dzh, dj, dz, and g before e, i and y.
    private static func soft(_ text: [UInt8]) -> [UInt8] {
        let joined = [Array("dzh".utf8), Array("dj".utf8), Array("dz".utf8)], before = Set("eiy".utf8)
        var out: [UInt8] = [], at = 0
        while at < text.count {
            if let part = joined.first(where: { text[at...].starts(with: $0) }) {
                out.append(UInt8(ascii: "j"))
                at += part.count
            } else {
                let isSoft = text[at] == UInt8(ascii: "g") && at + 1 < text.count && before.contains(text[at + 1])
                out.append(isSoft ? UInt8(ascii: "j") : text[at])
                at += 1
            }
        }
        return out
    }

    private static func replacing(_ text: [UInt8], _ from: [[UInt8]], _ to: [UInt8]) -> [UInt8] {
        var out: [UInt8] = [], at = 0
        while at < text.count {
            if let part = from.first(where: { text[at...].starts(with: $0) }) {
                out += to
                at += part.count
            } else {
                out.append(text[at])
                at += 1
            }
        }
        return out
    }

    /// The consonants of a `spoken` word, and whether it begins with a vowel.
    public static func sound(_ spelt: [UInt8]) -> [UInt8] {
        (spelt.first.map { vowels.contains($0) ? [UInt8(ascii: "a")] : [] } ?? []) + spelt.filter { !vowels.contains($0) }
    }

    /// How alike two texts are, as Python's `SequenceMatcher.ratio`: twice the letters of the blocks that they share, of
    /// all.
    static func ratio(_ a: [UInt8], _ b: [UInt8]) -> Double {
        if a.isEmpty && b.isEmpty { return 1 }
        var same = 0, todo = [(a.startIndex..<a.endIndex, b.startIndex..<b.endIndex)]
        while let (left, right) = todo.popLast() {
            var best = (a: left.lowerBound, b: right.lowerBound, size: 0)
            var before = [Int](repeating: 0, count: right.count + 1)  // by letter of b: how many before it and the last of a are the same
            for i in left {
                var now = [Int](repeating: 0, count: before.count)
                for j in right where a[i] == b[j] {
                    let k = before[j - right.lowerBound] + 1
                    now[j - right.lowerBound + 1] = k
                    if k > best.size { best = (i - k + 1, j - k + 1, k) }
                }
                before = now
            }
            if best.size == 0 { continue }
            same += best.size
            todo.append((left.lowerBound..<best.a, right.lowerBound..<best.b))
            todo.append(((best.a + best.size)..<left.upperBound, (best.b + best.size)..<right.upperBound))
        }
        return 2 * Double(same) / Double(a.count + b.count)
    }
}

/// The words of an album's names, found by what they are called and by what they sound like.
public struct NameWords: Sendable {
    static let leastAlike = 0.4, surelyAlike = 0.75  // of the letters of two names with the same consonants
    private static let letters = Pattern(#"[^\W\d_]{2,}"#)
    private static let endings = "а я у ю е и ы ой ей ами ями ого его ому ему ом ем ам ям ах ях ов ев".scalars.words()

    private var known = Set<Text>()
    private var alike: [[UInt8]: [(name: Text, spelt: [UInt8])]] = [:]

    public init(_ names: [Text]) {
        for name in names {
            for word in NameWords.letters.all(name).map(\.whole) where word[0].isUpper && known.insert(word.lowered()).inserted {
                if word.isUpper { continue }  // "PM" is nobody's name
                let spelt = GlossLetters.spoken(GlossLetters.latin(word))
                alike[GlossLetters.sound(spelt), default: []].append((word, spelt))
            }
        }
    }

    func contains(_ word: Text) -> Bool { known.contains(word.casefolded()) }

    /// The name that a word of another script says, in any case of its language; nil if there is none. `least`: the
    /// share of letters that must be alike beside the consonants.
    public func like(_ word: Text, _ least: Double) -> Text? {
        var best: Text?, share = least
        let low = word.casefolded()
        for ending in [Text()] + NameWords.endings.filter({ low.count >= $0.count && low[(low.count - $0.count)...].elementsEqual($0) }) {
            let said = GlossLetters.spoken(GlossLetters.latin(Array(low.dropLast(ending.count))))
            if said.count < 2 { continue }
            for (name, spelt) in alike[GlossLetters.sound(said)] ?? [] {
                let same = GlossLetters.ratio(said, spelt)
                if same > share { (best, share) = (name, same) }
            }
        }
        return best
    }
}
