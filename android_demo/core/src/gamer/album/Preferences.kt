package gamer.album

/** Feedback of the form "A is better than B", as pairs (better, worse) of photo rows and of entity rows. */
class Preferences(val photos: List<Pair<Int, Int>> = emptyList(), val entities: List<Pair<Int, Int>> = emptyList()) {
    companion object {
        /**
         * [ranked], with each better item moved directly before the first item it is better than. Other items
         * keep their order. Pairs of which one is not in [ranked] have no effect. Pairs in a cycle (from a
         * damaged file) neither drop nor repeat an item.
         */
        fun reorder(ranked: List<Int>, pairs: List<Pair<Int, Int>>): List<Int> {
            val place = HashMap<Int, Int>()
            ranked.forEachIndexed { at, row -> place[row] = at }
            val betters = HashMap<Int, MutableList<Int>>()
            for ((better, worse) in pairs) if (better in place && worse in place) betters.getOrPut(worse) { ArrayList() }.add(better)
            val out = ArrayList<Int>()
            val begun = HashSet<Int>()
            for (first in ranked) {
                val stack = ArrayList<Int>()
                if (first !in begun) stack.add(first)
                while (stack.isNotEmpty()) {
                    val row = stack.last()
                    if (begun.add(row)) {
                        val waiting = betters[row].orEmpty().filter { it !in begun && it in place }.distinct().sortedByDescending { place.getValue(it) }
                        stack.addAll(waiting)
                        if (waiting.isNotEmpty()) continue
                    }
                    stack.removeAt(stack.size - 1)
                    if (place.remove(row) != null) out.add(row)
                }
            }
            return out
        }

        /**
         * Preferences between entities as pairs of photos. [linked]: photo row → the entities it is linked
         * to, in the order of the ranking.
         */
        fun betweenPhotos(entities: List<Pair<Int, Int>>, linked: Map<Int, Set<Int>>): List<Pair<Int, Int>> = entities.flatMap { (better, worse) ->
            val ours = linked.filterValues { better in it && worse !in it }.keys
            val theirs = linked.filterValues { worse in it && better !in it }.keys
            ours.flatMap { a -> theirs.map { b -> a to b } }
        }
    }
}
