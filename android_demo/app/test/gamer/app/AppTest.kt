package gamer.app

import android.content.Intent
import android.os.Build
import android.widget.GridView
import android.widget.ImageView
import android.app.Activity
import android.graphics.drawable.BitmapDrawable
import gamer.album.Album
import java.io.File
import java.nio.file.Files as Paths
import java.util.Locale
import java.util.TimeZone
import kotlin.test.AfterTest
import kotlin.test.BeforeTest
import standin.App
import standin.Phone

/** A phone with the app, for one test. */
abstract class AppTest {
    private val home: File = Paths.createTempDirectory("phone").toFile()
    private val zone = TimeZone.getDefault()
    protected lateinit var phone: Phone

    @BeforeTest
    fun begin() {
        Build.VERSION.SDK_INT = 36
        Thumbnails.forget() // of the phone of another test
        Gallery.forget()
        TimeZone.setDefault(TimeZone.getTimeZone("Europe/Berlin"))
        Locale.setDefault(Locale.ENGLISH)
        phone = Phone(App(File(System.getProperty("gamer.main")), File(System.getProperty("gamer.assets"))), home)
    }

    @AfterTest
    fun end() {
        phone.closeAll()
        TimeZone.setDefault(zone)
        home.deleteRecursively()
    }

    protected val files: Files get() = Files(Here)

    /** A context of the phone that is no screen. */
    protected object Here : android.content.Context()

    protected fun photograph(name: String) = File(System.getProperty("gamer.photos"), name)

    protected val packed = File(System.getProperty("gamer.packed"))

    protected fun speak(language: String) {
        phone.language = language
        Locale.setDefault(Locale.forLanguageTag(language))
    }

    /** The six photographs are on the phone; the media provider takes their local times for the zone of the phone. */
    protected fun takePhotographs() {
        for (name in listOf("cat", "coffee", "rocket", "temple", "flower", "camera")) phone.gallery.add(photograph("$name.jpg"), TAKEN[name])
    }

    protected fun allowAll() = phone.grant(IMAGES, VIDEOS, PLACES, STORAGE)

    /** The model is on the phone, as if a person had chosen its file. */
    protected fun haveModel() = packed.inputStream().use { gamer.bundle.PackedBundle.unpack(it, "pocket.zip", files.bundle) }

    protected fun haveIndexed() {
        haveModel()
        takePhotographs()
        allowAll()
        IndexJob.schedule(Here)
        untilIndexed()
    }

    protected fun untilIndexed() = phone.until("indexing has ended") { !IndexJob.isRunning && phone.scheduler.allPendingJobs.none { it.id == 7 || it.id == 9 } }

    protected fun main() = phone.open(MainActivity::class.java)

    /** Types a query, and waits for its photos. */
    protected fun search(query: String): GridView {
        phone.type(query)
        phone.until("'$query' is answered") { !phone.said().contains("Searching…") }
        return phone.one(GridView::class.java)
    }

    /** The name of the file of the photo in the grid. */
    protected fun name(grid: GridView, at: Int): String = nameOf((grid.adapter.getItem(at) as FoundPhoto).path!!)

    protected fun nameOf(address: String): String = phone.gallery.query(android.net.Uri.parse(address), arrayOf("_display_name"), null).use { if (it.moveToFirst()) it.getString(0) else "gone" }

    /** Where an old model's vectors are, and another model's are wanted: as `gamer export` would name it. */
    protected fun rename(encoder: String, bundle: File) = File(bundle, "manifest.json").let { file ->
        val whole = org.json.JSONObject(file.readText())
        whole.put("text_encoder", encoder)
        file.writeText(whole.toString())
    }

    protected fun bitmap(view: ImageView) = (view.drawable as BitmapDrawable?)?.bitmap

    protected fun photosInAlbum(): Int = Album.open(files.album, AndroidDatabase).use { it.size }

    /** Waits for another screen of the app. */
    protected inline fun <reified A : Activity> untilShown(): A {
        phone.until("${A::class.java.simpleName} is shown") { phone.screen() is A }
        return phone.screen() as A
    }

    /** What another app was asked to do, behind the system's chooser. */
    protected fun handed(): Intent = phone.handed.last().let { if (it.action == Intent.ACTION_CHOOSER) it.extra(Intent.EXTRA_INTENT) as Intent else it }

    protected companion object {
        const val IMAGES = "android.permission.READ_MEDIA_IMAGES"
        const val VIDEOS = "android.permission.READ_MEDIA_VIDEO"
        const val CHOSEN = "android.permission.READ_MEDIA_VISUAL_USER_SELECTED"
        const val PLACES = "android.permission.ACCESS_MEDIA_LOCATION"
        const val STORAGE = "android.permission.READ_EXTERNAL_STORAGE"
        val TAKEN = mapOf(
            "cat" to 1_715_414_400_000, "coffee" to 1_713_598_200_000, "rocket" to 1_688_227_200_000, "temple" to 1_664_791_200_000, "flower" to 1_717_104_600_000,
        )
    }
}
