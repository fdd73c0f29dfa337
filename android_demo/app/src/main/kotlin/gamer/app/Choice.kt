package gamer.app

import android.app.Activity
import android.view.ActionMode
import android.view.Menu
import android.view.MenuItem
import android.widget.AbsListView
import android.widget.GridView

/** Several photos of a grid, chosen by a long press and then by taps, and what is done with them together. */
class Choice(private val of: Activity, private val grid: GridView) : AbsListView.MultiChoiceModeListener {
    private var mode: ActionMode? = null

    init {
        grid.choiceMode = AbsListView.CHOICE_MODE_MULTIPLE_MODAL
        grid.setMultiChoiceModeListener(this)
    }

    /** To be called before the grid shows others. */
    fun end() {
        mode?.finish()
    }

    override fun onCreateActionMode(mode: ActionMode, menu: Menu): Boolean {
        this.mode = mode
        Gallery.offer(menu)
        return true
    }

    override fun onPrepareActionMode(mode: ActionMode, menu: Menu): Boolean = false

    override fun onItemCheckedStateChanged(mode: ActionMode, at: Int, id: Long, isChosen: Boolean) {
        mode.title = of.getString(R.string.chosen, grid.checkedItemCount)
    }

    override fun onActionItemClicked(mode: ActionMode, item: MenuItem): Boolean {
        val photos = (0 until grid.adapter.count).filter(grid::isItemChecked).map { grid.adapter.getItem(it) as FoundPhoto }
        Gallery.begin(of, Gallery.deed(item) ?: return false, photos)
        mode.finish()
        return true
    }

    override fun onDestroyActionMode(mode: ActionMode) {
        this.mode = null
    }
}
