package android.widget;

import android.content.Context;
import android.graphics.Typeface;
import android.view.KeyEvent;
import android.view.View;

public class TextView extends View {
    public interface OnEditorActionListener {
        boolean onEditorAction(TextView view, int action, KeyEvent key);
    }

    private CharSequence text = "", hint;
    private int type, options;
    private Typeface face;
    private OnEditorActionListener done;

    public TextView(Context context) {
        super(context);
    }

    public CharSequence getText() {
        return text;
    }

    public final void setText(CharSequence text) {
        change();
        this.text = text == null ? "" : text.toString();
    }

    public final void setText(int id) {
        setText(context.getString(id));
    }

    public CharSequence getHint() {
        return hint;
    }

    public final void setHint(int id) {
        hint = context.getString(id);
    }

    public int getInputType() {
        return type;
    }

    public void setInputType(int type) {
        this.type = type;
    }

    public int getImeOptions() {
        return options;
    }

    public void setImeOptions(int options) {
        this.options = options;
    }

    public Typeface getTypeface() {
        return face;
    }

    public void setTypeface(Typeface face) {
        this.face = face;
    }

    public void setTextIsSelectable(boolean selectable) {}

    public void setOnEditorActionListener(OnEditorActionListener done) {
        this.done = done;
    }

    /** The keyboard's action: what a person does at the end of a line. */
    public void onEditorAction(int action) {
        done.onEditorAction(this, action, null);
    }
}
