package gamer.models

/** The [experts] to run, strongest first, with their [weights], which sum to one (float32). */
class Route(val experts: IntArray, val weights: FloatArray)

/** Dynamic routing of the projection experts (paper Eq. 1). */
object Routing {
    /**
     * Router weights [E] (non-negative) → the experts to run. Weights are normalised and sorted descending;
     * the smallest number of experts whose cumulative sum reaches [rho] is chosen.
     */
    fun choose(weights: FloatArray, rho: Double): Route {
        var total = 0f
        for (w in weights) total += w
        require(rho > 0.0 && rho <= 1.0 && total > 0f) { "ρ = $rho and weights summing to $total: 0 < ρ ≤ 1 and a positive sum are wanted" }
        val share = FloatArray(weights.size) { weights[it] / total }
        val order = share.indices.sortedByDescending { share[it] } // a stable sort
        var sum = 0.0
        var count = 0
        // A sum of 0.69999999 counts as 0.7: rounding must not add another expert.
        while (count < order.size && sum < rho - 1e-7) sum += share[order[count++]].toDouble()
        count = maxOf(count, 1)
        val kept = order.take(count)
        var own = 0f
        for (i in kept) own += share[i]
        return Route(kept.toIntArray(), FloatArray(count) { share[kept[it]] / own })
    }
}
