package gamer.people

/**
 * Groups faces into people by the distances of their vectors (index/people/grouping.py): two groups become one if the mean squared
 * distance between their faces is small enough. For squared distances the mean follows from the groups' centres and spreads. Only
 * faces that are near each other are tried, the nearest first.
 */
object Grouping {
    const val THRESHOLD = 0.55
    private const val NEIGHBOURS = 16 // of a face, of which any may be the same person
    private const val ROUNDS = 4

    /**
     * The person of each face after the groups that are near enough have become one. [persons]: who they were until now. [fresh]:
     * the faces that are new; groups without any stay apart. [held]: people of whom no two become one. Of two people a held one
     * stays, else the one with the lower number.
     */
    fun group(vectors: List<FloatArray>, persons: List<Long>, fresh: List<Int>, held: Set<Long>, threshold: Double = THRESHOLD): List<Long> {
        if (fresh.isEmpty()) return persons
        val groups = Groups(vectors, persons, held, threshold * threshold)
        val faces = near(vectors, fresh, threshold * threshold)
        for (round in 0 until ROUNDS) {
            var joined = groups.join(faces)
            val roots = groups.roots()
            val new = fresh.map { roots.binarySearch(groups.of(it)) }.distinct().sorted()
            joined += groups.join(near(roots.map { groups.centres[it] }, new, threshold * threshold).map { (one, other) -> groups.first[roots[one]] to groups.first[roots[other]] })
            if (joined == 0) break
        }
        return persons.indices.map { groups.persons[groups.of(it)] }
    }

    /** Pairs of each of [rows] with its nearest other vectors, the nearest pairs first, none beyond the limit. */
    private fun near(vectors: List<FloatArray>, rows: List<Int>, limit: Double): List<Pair<Int, Int>> =
        rows.flatMap { row ->
            val others = vectors.indices.mapNotNull { other ->
                val apart = apart(vectors[row], vectors[other], limit)
                if (other != row && apart <= limit) Triple(row, other, apart) else null
            }
            others.sortedBy { it.third }.take(NEIGHBOURS)
        }.sortedBy { it.third }.map { it.first to it.second }

    /** The squared distance of two vectors; above [limit] the sum of some of it, since most faces are far from most. */
    private fun apart(a: FloatArray, b: FloatArray, limit: Double = Double.MAX_VALUE): Double {
        var sum = 0.0
        var n = 0
        while (n < a.size && sum <= limit) {
            val by = (a[n] - b[n]).toDouble()
            sum += by * by
            n++
        }
        return sum
    }

    /** Groups of faces, which join; a group is known by its index among the people that there were first. */
    private class Groups(vectors: List<FloatArray>, of: List<Long>, held: Set<Long>, private val limit: Double) {
        val persons = of.distinct().sorted()
        private val group = of.map { persons.binarySearch(it) }

        /** A face of each group. */
        val first = IntArray(persons.size).also { first -> for (face in group.indices.reversed()) first[group[face]] = face }
        private val counts = DoubleArray(persons.size)
        val centres: Array<FloatArray>
        private val spread = DoubleArray(persons.size)
        private val isHeld = BooleanArray(persons.size) { persons[it] in held }
        private val parent = IntArray(persons.size) { it }

        init {
            val sums = Array(persons.size) { DoubleArray(vectors[0].size) }
            for ((face, at) in group.withIndex()) {
                counts[at] += 1.0
                for (n in sums[at].indices) sums[at][n] += vectors[face][n].toDouble()
            }
            centres = Array(persons.size) { at -> FloatArray(sums[at].size) { (sums[at][it] / counts[at]).toFloat() } }
            for ((face, at) in group.withIndex()) spread[at] += apart(vectors[face], centres[at]) / counts[at]
        }

        /** Joins the groups of pairs of faces, in their order, where they are near enough; how many. */
        fun join(pairs: List<Pair<Int, Int>>): Int = pairs.count { (one, other) ->
            val (a, b) = of(one) to of(other)
            (a != b && areOne(a, b)).also { if (it) join(a, b) }
        }

        /** The group of a face. */
        fun of(face: Int): Int {
            var at = group[face]
            while (parent[at] != at) {
                parent[at] = parent[parent[at]]
                at = parent[at]
            }
            return at
        }

        fun roots(): List<Int> = parent.indices.filter { parent[it] == it }

        private fun areOne(a: Int, b: Int) =
            !(isHeld[a] && isHeld[b]) && apart(centres[a], centres[b]) + spread[a] + spread[b] <= limit

        private fun join(a: Int, b: Int) {
            val (stays, goes) = if (isHeld[a] != isHeld[b]) (if (isHeld[a]) a to b else b to a) else minOf(a, b) to maxOf(a, b)
            val (m, n) = counts[stays] to counts[goes]
            val between = apart(centres[stays], centres[goes]) * m * n / ((m + n) * (m + n))
            spread[stays] = (m * spread[stays] + n * spread[goes]) / (m + n) + between
            for (i in centres[stays].indices) centres[stays][i] = ((m * centres[stays][i] + n * centres[goes][i]) / (m + n)).toFloat()
            counts[stays] = m + n
            isHeld[stays] = isHeld[stays] || isHeld[goes]
            parent[goes] = stays
        }
    }
}
