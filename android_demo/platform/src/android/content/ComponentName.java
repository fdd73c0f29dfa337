package android.content;

public final class ComponentName {
    public final Class<?> of;

    public ComponentName(Context context, Class<?> of) {
        this.of = of;
    }
}
