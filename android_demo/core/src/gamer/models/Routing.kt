package gamer.models

/** The [experts] to run, strongest first, with their [weights] normalised over themselves (float32). */
class Route(val experts: IntArray, val weights: FloatArray)

/** Dynamic routing of the projection experts (paper Eq. 1). Knows weights and ρ; runs nothing. */
object Routing {
    /**
     * Router weights [E] (not negative) → the experts to run. Weights are normalised and sorted descending; the smallest number of them whose
     * sum reaches [rho] is kept.
     */
    fun choose(weights: FloatArray, rho: Double): Route {
        var total = 0f
        for (w in weights) total += w
        require(rho > 0.0 && rho <= 1.0 && total > 0f) { "ρ = $rho and weights summing to $total: 0 < ρ ≤ 1 and a positive sum are wanted" }
        val share = FloatArray(weights.size) { weights[it] / total }
        val order = share.indices.sortedByDescending { share[it] } // stable
        var sum = 0.0
        var count = 0
        // A sum of 0.69999999 is 0.7: rounding must not wake another expert.
        while (count < order.size && sum < rho - 1e-7) sum += share[order[count++]].toDouble()
        count = maxOf(count, 1)
        val kept = order.take(count)
        var own = 0f
        for (i in kept) own += share[i]
        return Route(kept.toIntArray(), FloatArray(count) { share[kept[it]] / own })
    }
}
