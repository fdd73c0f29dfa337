package gamer.screen

/** Why indexing waits, and when it goes on. */
enum class Pause(val say: Say) {
    BATTERY(Say.BATTERY), HEAT(Say.HEAT);

    companion object {
        const val LEAST_CHARGE = 30 // per cent
        const val SEVERE = 3 // as Android numbers its thermal states

        /** [charge]: per cent, [heat]: the thermal status; null where the phone does not tell. */
        fun of(charge: Int?, isCharging: Boolean, heat: Int?): Pause? = when {
            heat != null && heat >= SEVERE -> HEAT
            charge != null && charge < LEAST_CHARGE && !isCharging -> BATTERY
            else -> null
        }
    }
}
