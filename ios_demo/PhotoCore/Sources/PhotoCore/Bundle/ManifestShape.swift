/// The shape of the manifest's JSON, and a check that names the first field that does not fit, as the Python
/// reference does.
indirect enum Shape: Sendable {
    case int, float, string, bool
    case list(Shape)
    case map(Shape)
    /// One of several scalar kinds, or null.
    case either([Shape], orNull: Bool)
    case record(String, [Field])

    struct Field: Sendable {
        let name: String
        let shape: Shape
        let isOptional: Bool

        init(_ name: String, _ shape: Shape, optional: Bool = false) { (self.name, self.shape, isOptional) = (name, shape, optional) }
    }

    /// Raises Failure.value naming the field.
    func check(_ raw: JSON, at place: String) throws {
        switch (self, raw) {
        case (.record(_, let fields), .object(let members)):
            let have = Set(members.map(\.name)), known = Set(fields.map(\.name))
            let missing = fields.filter { !$0.isOptional && !have.contains($0.name) }.map(\.name)
            let unknown = have.subtracting(known).sorted()
            if !missing.isEmpty { throw Failure.value("\(place): \(missing.joined(separator: ", ")) missing") }
            if !unknown.isEmpty { throw Failure.value("\(place): \(unknown.joined(separator: ", ")) unknown") }
            for member in members { try fields.first { $0.name == member.name }!.shape.check(member.value, at: "\(place).\(member.name)") }
        case (.list(let item), .array(let values)):
            for (n, value) in values.enumerated() { try item.check(value, at: "\(place)[\(n)]") }
        case (.map(let item), .object(let members)):
            for member in members { try item.check(member.value, at: "\(place).\(member.name)") }
        case (.either(_, orNull: true), .null): return
        case (.either(let kinds, _), _):
            if case .object = raw { return try kinds[0].check(raw, at: place) }
            for kind in kinds where (try? kind.check(raw, at: place)) != nil { return }
            throw wrong(raw, place)
        case (.int, .int), (.string, .string), (.bool, .bool), (.float, .int): return
        case (.float, .number(let value)) where value.isFinite: return
        default: throw wrong(raw, place)
        }
    }

    private func wrong(_ raw: JSON, _ place: String) -> Failure { .value("\(place): \(name) is wanted, not \(raw.typeName)") }

    private var name: String {
        switch self {
        case .int: return "int"
        case .float: return "float"
        case .string: return "str"
        case .bool: return "bool"
        case .list: return "tuple"
        case .map: return "dict"
        case .either: return "Union"
        case .record(let name, _): return name
        }
    }
}

extension Shape {
    private static let tensor = Shape.record("TensorSpec", [Field("name", .string), Field("shape", .list(.either([.int, .string], orNull: false))), Field("dtype", .string)])
    private static let maybeFloat = Shape.either([.float], orNull: true)
    private static let parity = Shape.record("Parity", [
        Field("status", .string), Field("metric", .string), Field("threshold", .float), Field("minimum", maybeFloat, optional: true),
        Field("mean", maybeFloat, optional: true), Field("top1", maybeFloat, optional: true), Field("top1_threshold", maybeFloat, optional: true),
        Field("inputs", .int, optional: true), Field("executed_by", .string, optional: true), Field("kernels", .string, optional: true),
        Field("outputs", .map(.float), optional: true),
    ])
    private static let file = [Field("path", .string), Field("bytes", .int), Field("sha256", .string)]
    /// What a caller without this library has to do: checked, and not stored.
    private static let contract = Shape.record("Contract", [
        Field("inputs", .list(.record("InputContract", [
            Field("name", .string), Field("holds", .string), Field("layout", .string), Field("prepare", .string), Field("range", .list(.float), optional: true),
            Field("normalised_by", .string, optional: true), Field("file", .string, optional: true), Field("max_length", .int, optional: true),
            Field("pad_to", .int, optional: true),
        ]))),
        Field("outputs", .list(.record("OutputContract", [Field("name", .string), Field("holds", .string), Field("unit_length", .bool, optional: true)]))),
        Field("golden", .either([.record("Golden", [
            Field("inputs", .map(.string)), Field("steps", .string), Field("output", .string), Field("want", .string), Field("cosine", .float),
            Field("texts", .string, optional: true),
        ])], orNull: true), optional: true),
    ])
    /// Where an artifact's operations ran, for people: checked, and not stored.
    private static let placement = Shape.record("Placement", [
        Field("by", .string),
        Field("operations", .list(.record("Operations", [Field("where", .string), Field("kernel", .string), Field("operator", .string), Field("count", .int)]))),
        Field("predictions", .list(.record("Prediction", [
            Field("engine", .string), Field("taken", .int), Field("all", .int), Field("partitions", .int),
            Field("left", .list(.record("Left", [Field("operator", .string), Field("count", .int), Field("why", .string), Field("change", .string, optional: true)]))),
            Field("source", .string), Field("fixed", .list(.string), optional: true),
        ])), optional: true),
        Field("delegates", .int, optional: true), Field("memory", .int, optional: true),
    ])
    private static let artifact = Shape.record("Artifact", [
        Field("role", .string), Field("target", .string), Field("quant", .string),
    ] + file + [Field("inputs", .list(tensor)), Field("outputs", .list(tensor)), Field("parity", parity), Field("export_seconds", .float),
        Field("export_peak_bytes", .int, optional: true), Field("contract", .either([contract], orNull: true), optional: true),
        Field("placement", .either([placement], orNull: true), optional: true)])
    private static let component = Shape.record("Component", [
        Field("role", .string), Field("architecture", .string), Field("source", .string), Field("trained", .bool), Field("parameters", .int),
        Field("macs", .int), Field("macs_per", .string),
    ])
    private static let preprocessing = Shape.record("Preprocessing", [
        Field("resize", .int), Field("crop", .int), Field("interpolation", .string), Field("mean", .float), Field("std", .float),
        Field("channel_mean", .list(.float), optional: true), Field("channel_std", .list(.float), optional: true), Field("fit", .string, optional: true),
        Field("normalised_by", .string, optional: true),
    ])
    private static let language = Shape.record("Language", [
        Field("layers", .int), Field("kv_heads", .int), Field("head_dim", .int), Field("hidden", .int), Field("max_seq", .int),
        Field("rope_theta", .float), Field("eos_ids", .list(.int)), Field("window", .int, optional: true),
        Field("rope_theta_local", .float, optional: true), Field("buckets", .int, optional: true), Field("distance", .int, optional: true),
        Field("start_id", .either([.int], orNull: true), optional: true),
    ])
    private static let thresholds = Shape.record("Thresholds", [Field("delta", .float), Field("rho", .float), Field("k", .int), Field("delta_from", .string), Field("paper_delta", .either([.float], orNull: true), optional: true)])
    private static let ranking = Shape.record("Ranking", RankingWeights.names.map { Field($0.key, .float, optional: true) } + [Field("fitted", .string, optional: true)])
    private static let channel = Shape.record("Channel", [Field("name", .string), Field("query", .string), Field("dim", .int)])
    private static let textPrompts = Shape.record("TextPrompts", [Field("query", .string, optional: true), Field("memory", .string, optional: true)])
    private static let budgetPoint = Shape.record("BudgetPoint", [Field("bytes", .int), Field("loss", .float), Field("quant", .string, optional: true)])
    /// What a component's bits were chosen from, for the report: checked, and not stored.
    private static let budget = Shape.record("Budget", [
        Field("role", .string), Field("target", .string), Field("curve", .list(budgetPoint)), Field("uniform", .list(budgetPoint)),
        Field("chosen", budgetPoint),
    ])
    private static let prefix = Shape.record("PrefixFile", [
        Field("prompt", .string), Field("target", .string), Field("tokens", .int), Field("made_from", .string),
    ] + file)

    static let manifest = Shape.record("Manifest", [
        Field("schema_version", .int), Field("recipe", .string), Field("quant", .string), Field("text_encoder", .string), Field("image_encoder", .string),
        Field("dim", .int), Field("components", .list(component)), Field("artifacts", .list(artifact)), Field("preprocessing", .either([preprocessing], orNull: true)),
        Field("language", .either([language], orNull: true)), Field("thresholds", thresholds), Field("prompts", .map(.string)),
        Field("files", .list(.record("DataFile", [Field("name", .string)] + file))), Field("licences", .map(.string)), Field("tools", .map(.string)),
        Field("prefixes", .list(prefix), optional: true), Field("ranking", .either([ranking], orNull: true), optional: true),
        Field("settings", .either([.map(.string)], orNull: true), optional: true), Field("random_parts", .list(.string), optional: true),
        Field("channels", .list(channel), optional: true), Field("text_prompts", .either([textPrompts], orNull: true), optional: true),
        Field("budgets", .list(budget), optional: true),
    ])
}
