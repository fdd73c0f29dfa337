package android.widget;

public abstract class BaseAdapter implements ListAdapter, SpinnerAdapter {
    @Override
    public int getItemViewType(int at) {
        return 0;
    }

    @Override
    public int getViewTypeCount() {
        return 1;
    }

    @Override
    public boolean isEnabled(int at) {
        return true;
    }
}
