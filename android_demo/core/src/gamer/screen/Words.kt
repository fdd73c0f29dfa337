package gamer.screen

import java.util.Locale

/** What the screens say. [english]: the words, with a place for each value; an app has them in its resources in every language. */
enum class Say(val english: String) {
    SEARCHING("Searching…"),
    FOUND("%1\$d found"),
    DOUBTFUL("Probably not in this album (%1\$d %%); the nearest:"),
    REMARK_ANCHOR("in relation to %1\$s"),
    REMARK_ANCHOR_ABSENT("The album does not seem to have “%1\$s”"),
    REMARK_ANCHOR_NONE("No such photo in relation to %1\$s"),
    REMARK_ANCHOR_UNDATED("The album does not know when “%1\$s” was"),
    REMARK_FIRST("%1\$s came first"),
    REMARK_ELSEWHERE("no photo in %1\$s"),
    REMARK_EMPTY("No photos in this album"),
    REMARK_FACET_ALONE("%1\$s alone: %2\$d"),
    REMARK_FACET_ALONE_SOMEBODY("one person alone: %1\$d"),
    REMARK_FACET_CAMERA("by %1\$s: %2\$d"),
    REMARK_FACET_FACT_DATE("with a date: %1\$d"),
    REMARK_FACET_FACT_FLASH("with flash: %1\$d"),
    REMARK_FACET_FACT_PLACE("with a place: %1\$d"),
    REMARK_FACET_FACT_TEXT("with text: %1\$d"),
    REMARK_FACET_MEDIUM_RECEIPT("receipts: %1\$d"),
    REMARK_FACET_MEDIUM_SCREENSHOT("screenshots: %1\$d"),
    REMARK_FACET_MEDIUM_VIDEO("videos: %1\$d"),
    REMARK_FACET_ORIENTATION_LANDSCAPE("landscape: %1\$d"),
    REMARK_FACET_ORIENTATION_PORTRAIT("portrait: %1\$d"),
    REMARK_FACET_ORIENTATION_SQUARE("square: %1\$d"),
    REMARK_FACET_TOGETHER("together: %1\$s: %2\$d"),
    REMARK_FACET_TOGETHER_PEOPLE("several people together: %1\$d"),
    REMARK_FAVOURITES("favourites only: %1\$d"),
    REMARK_NONE("No photo: %1\$s"),
    REMARK_UNPICTURED("Pictures cannot be searched for “%1\$s” with this model; memories were"),
    REMARK_UNPICTURED_FOREIGN("Pictures cannot be searched for “%1\$s” with this model; memories were. Words of other languages than English need a bundle with dictionaries"),
    REMARK_SPELT("spelt: “%1\$s”"),
    REMARK_WITHOUT("without “%1\$s”: %2\$d left out"),
    UNPACKING("Unpacking the model, and checking it…"),
    NO_MODEL("No model yet. Choose the file that `gamer pack` wrote; or push a bundle:\nadb push out/pocket/. %1\$s/bundle/"),
    NO_ACCESS("No photo may be seen yet. Photos never leave this phone."),
    STOPPED("Indexing stopped: %1\$s"),
    OF_OTHERS("There is an album, and no photo of this phone is indexed yet"),
    NONE_YET("No photos indexed yet"),
    INDEXING("Indexing: %1\$d of %2\$d photos"),
    PEOPLE_LEFT("Looking for people: %1\$d photos left"),
    INDEXED("%1\$d of %2\$d photos indexed"),
    BATTERY("Indexing is paused to spare the battery, and goes on when the phone charges"),
    HEAT("Indexing is paused because the phone is hot, and goes on when it is cooler"),
    UNREAD("%1\$d could not be read and are tried again"),
    LEFT_OUT_ONE("%1\$s failed twice, left out"),
    LEFT_OUT_MORE("%1\$s and %2\$d more failed twice, left out"),
    ONLY_CHOSEN("only those that you chose"),
    SECONDS_LEFT("less than a minute left"),
    MINUTE_LEFT("about a minute left"),
    MINUTES_LEFT("about %1\$d minutes left"),
    HOURS_LEFT("about %1\$d hours left"),
    NOT_INDEXED("Of chats nothing is indexed on the phone, and text in pictures only where the model reads it; a computer's album has them"),
    BEGINS("Indexing begins"),
    BEGINS_NOW("Indexing begins now, instead of later"),
    IN_PROGRESS("Indexing is in progress"),
}

/** Says it in a language. */
fun interface Words {
    fun say(what: Say, vararg values: Any): String
}

/** Where an app's resources are not: in tests. */
object English : Words {
    override fun say(what: Say, vararg values: Any): String = what.english.format(Locale.ROOT, *values)
}
