package gamer.tokens

/** A growing list of unboxed integers. */
class IntList(capacity: Int = 16) {
    private var values = IntArray(capacity)
    var size = 0
        private set

    fun add(value: Int) {
        if (size == values.size) values = values.copyOf(size * 2 + 1)
        values[size++] = value
    }

    operator fun get(at: Int): Int = values[at]

    operator fun set(at: Int, value: Int) {
        values[at] = value
    }

    fun addAll(others: IntArray) = others.forEach { add(it) }

    fun truncate(count: Int) {
        size = count
    }

    fun toArray(): IntArray = values.copyOf(size)
}
