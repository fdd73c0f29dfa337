package gamer.album

/**
 * How a photo shows an entity (`mentions.leaf`): it hangs on the first two; a [CHILD] describes another entity
 * that the photo shows, and the graph reaches it from there.
 */
internal object Leaves {
    const val PARENT = 0L
    const val ALONE = 1L
    const val CHILD = 2L

    /**
     * Entity → [PARENT], [ALONE] or [CHILD], for one photo. [alone]: entities that a memory names without
     * saying what they describe; [children]: parent → entities that describe it. Entities that describe one
     * another in a circle are not reached from outside: the photo hangs on all of them.
     */
    fun of(alone: Set<Long>, children: Map<Long, Set<Long>>): Map<Long, Long> {
        val described = children.values.flatten().toSet()
        val roots = alone + children.keys.filter { it !in described }
        val reached = HashSet(roots)
        val waiting = ArrayList(roots)
        while (waiting.isNotEmpty()) {
            for (child in children[waiting.removeAt(waiting.lastIndex)].orEmpty()) if (reached.add(child)) waiting.add(child)
        }
        val all = alone + described + children.keys
        val hanging = roots + all.filter { it !in reached }
        return all.sorted().associateWith { if (it !in hanging) CHILD else if (it in children) PARENT else ALONE }
    }
}
