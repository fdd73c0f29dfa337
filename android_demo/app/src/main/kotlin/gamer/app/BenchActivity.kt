package gamer.app

import android.app.Activity
import android.content.Intent
import android.graphics.Typeface
import android.os.Bundle
import android.view.View
import android.widget.AdapterView
import android.widget.ArrayAdapter
import android.widget.Button
import android.widget.EditText
import android.widget.LinearLayout
import android.widget.ScrollView
import android.widget.Spinner
import android.widget.TextView
import gamer.common.oneLine
import java.util.concurrent.Executors

/** Measures every layer of a search and every component over N rounds, shows p50 and p90, and shares them as JSON. */
class BenchActivity : Activity() {
    private val work = Executors.newSingleThreadExecutor()
    private lateinit var report: TextView
    private lateinit var rounds: EditText
    private lateinit var share: Button
    private var json: String? = null

    override fun onCreate(saved: Bundle?) {
        super.onCreate(saved)
        report = TextView(this).apply { typeface = Typeface.MONOSPACE; setPadding(32, 32, 32, 32) }
        rounds = EditText(this).apply { setText("20"); inputType = android.text.InputType.TYPE_CLASS_NUMBER; setHint(R.string.rounds) }
        share = Button(this).apply { setText(R.string.share_json); isEnabled = false; setOnClickListener { send() } }
        content(LinearLayout(this).apply {
            orientation = LinearLayout.VERTICAL
            addView(rounds)
            addView(runners())
            addView(Button(context).apply { setText(R.string.measure); setOnClickListener { measure() } })
            addView(share)
            addView(ScrollView(context).apply { addView(report) })
        })
    }

    override fun onDestroy() {
        work.shutdownNow()
        super.onDestroy()
    }

    /** What runs the encoders, of searches and of indexing, from now on. */
    private fun runners(): Spinner = Spinner(this).apply {
        val here = Runner.here
        adapter = ArrayAdapter(context, android.R.layout.simple_spinner_dropdown_item, here.map { getString(it.said) })
        setSelection(here.indexOf(Runner.chosen(context)))
        onItemSelectedListener = object : AdapterView.OnItemSelectedListener {
            override fun onItemSelected(parent: AdapterView<*>?, view: View?, at: Int, id: Long) {
                Runner.choose(context, here[at])
            }

            override fun onNothingSelected(parent: AdapterView<*>?) = Unit
        }
    }

    private fun measure() {
        val count = (rounds.text.toString().toIntOrNull() ?: 20).coerceIn(1, 1_000)
        report.setText(R.string.measuring)
        work.execute {
            val text = try {
                val (files, runner) = Files(this) to Runner.chosen(this)
                val made = Cores.measure(this, Cores.searched(files), files.album, runner, count, ops = false) { said ->
                    if (Thread.interrupted()) throw InterruptedException("the measurement was left")
                    runOnUiThread { report.text = said }
                }
                json = made.json().toString(1)
                made.lines().joinToString("\n")
            } catch (error: Throwable) { // a library that cannot be loaded is an Error
                oneLine(error)
            }
            runOnUiThread { report.text = text; share.isEnabled = json != null }
        }
    }

    private fun send() {
        val intent = Intent(Intent.ACTION_SEND).setType("application/json").putExtra(Intent.EXTRA_SUBJECT, "gamer-latency.json").putExtra(Intent.EXTRA_TEXT, json)
        startActivity(Intent.createChooser(intent, getString(R.string.share_measurement)))
    }
}
