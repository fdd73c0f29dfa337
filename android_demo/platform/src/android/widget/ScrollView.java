package android.widget;

public class ScrollView extends FrameLayout {
    public ScrollView(android.content.Context context) {
        super(context);
    }

    @Override
    public void addView(android.view.View view) {
        if (getChildCount() > 0) throw new IllegalStateException("ScrollView can host only one direct child");
        super.addView(view);
    }
}
