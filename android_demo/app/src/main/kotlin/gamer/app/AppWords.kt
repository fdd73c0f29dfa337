package gamer.app

import android.content.Context
import gamer.screen.Say
import gamer.screen.Words

/** The words of the app's resources, in the phone's language. */
class AppWords(private val context: Context) : Words {
    override fun say(what: Say, vararg values: Any): String = context.getString(IN_RESOURCES.getValue(what), *values)

    private companion object {
        val IN_RESOURCES = mapOf(
            Say.SEARCHING to R.string.say_searching,
            Say.FOUND to R.string.say_found,
            Say.DOUBTFUL to R.string.say_doubtful,
            Say.FAVOURITES to R.string.say_favourites,
            Say.WITHOUT to R.string.say_without,
            Say.UNPACKING to R.string.say_unpacking,
            Say.NO_MODEL to R.string.say_no_model,
            Say.NO_ACCESS to R.string.say_no_access,
            Say.STOPPED to R.string.say_stopped,
            Say.OF_OTHERS to R.string.say_of_others,
            Say.NONE_YET to R.string.say_none_yet,
            Say.INDEXING to R.string.say_indexing,
            Say.INDEXED to R.string.say_indexed,
            Say.BATTERY to R.string.say_battery,
            Say.HEAT to R.string.say_heat,
            Say.UNREAD to R.string.say_unread,
            Say.LEFT_OUT_ONE to R.string.say_left_out_one,
            Say.LEFT_OUT_MORE to R.string.say_left_out_more,
            Say.ONLY_CHOSEN to R.string.say_only_chosen,
            Say.SECONDS_LEFT to R.string.say_seconds_left,
            Say.MINUTE_LEFT to R.string.say_minute_left,
            Say.MINUTES_LEFT to R.string.say_minutes_left,
            Say.HOURS_LEFT to R.string.say_hours_left,
            Say.NOT_INDEXED to R.string.say_not_indexed,
            Say.BEGINS to R.string.say_begins,
            Say.BEGINS_NOW to R.string.say_begins_now,
            Say.IN_PROGRESS to R.string.say_in_progress,
        )
    }
}
