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
            Say.REMARK_ANCHOR to R.string.remark_anchor,
            Say.REMARK_ANCHOR_ABSENT to R.string.remark_anchor_absent,
            Say.REMARK_ANCHOR_NONE to R.string.remark_anchor_none,
            Say.REMARK_ANCHOR_UNDATED to R.string.remark_anchor_undated,
            Say.REMARK_FIRST to R.string.remark_first,
            Say.REMARK_ELSEWHERE to R.string.remark_elsewhere,
            Say.REMARK_EMPTY to R.string.remark_empty,
            Say.REMARK_FACET_ALONE to R.string.remark_facet_alone,
            Say.REMARK_FACET_ALONE_SOMEBODY to R.string.remark_facet_alone_somebody,
            Say.REMARK_FACET_CAMERA to R.string.remark_facet_camera,
            Say.REMARK_FACET_FACT_DATE to R.string.remark_facet_fact_date,
            Say.REMARK_FACET_FACT_FLASH to R.string.remark_facet_fact_flash,
            Say.REMARK_FACET_FACT_PLACE to R.string.remark_facet_fact_place,
            Say.REMARK_FACET_FACT_TEXT to R.string.remark_facet_fact_text,
            Say.REMARK_FACET_MEDIUM_RECEIPT to R.string.remark_facet_medium_receipt,
            Say.REMARK_FACET_MEDIUM_SCREENSHOT to R.string.remark_facet_medium_screenshot,
            Say.REMARK_FACET_MEDIUM_VIDEO to R.string.remark_facet_medium_video,
            Say.REMARK_FACET_ORIENTATION_LANDSCAPE to R.string.remark_facet_orientation_landscape,
            Say.REMARK_FACET_ORIENTATION_PORTRAIT to R.string.remark_facet_orientation_portrait,
            Say.REMARK_FACET_ORIENTATION_SQUARE to R.string.remark_facet_orientation_square,
            Say.REMARK_FACET_TOGETHER to R.string.remark_facet_together,
            Say.REMARK_FACET_TOGETHER_PEOPLE to R.string.remark_facet_together_people,
            Say.REMARK_FAVOURITES to R.string.remark_favourites,
            Say.REMARK_NONE to R.string.remark_none,
            Say.REMARK_UNPICTURED to R.string.remark_unpictured,
            Say.REMARK_UNPICTURED_FOREIGN to R.string.remark_unpictured_foreign,
            Say.REMARK_SPELT to R.string.remark_spelt,
            Say.REMARK_WITHOUT to R.string.remark_without,
            Say.UNPACKING to R.string.say_unpacking,
            Say.NO_MODEL to R.string.say_no_model,
            Say.NO_ACCESS to R.string.say_no_access,
            Say.STOPPED to R.string.say_stopped,
            Say.OF_OTHERS to R.string.say_of_others,
            Say.NONE_YET to R.string.say_none_yet,
            Say.INDEXING to R.string.say_indexing,
            Say.PEOPLE_LEFT to R.string.say_people_left,
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
