package standin;

import android.app.Activity;
import android.app.job.JobScheduler;
import android.content.Intent;
import android.content.IntentSender;
import android.content.SharedPreferences;
import android.content.pm.PackageManager;
import android.net.Uri;
import android.os.Bundle;
import android.os.Handler;
import android.os.Looper;
import android.view.ActionMode;
import android.view.Menu;
import android.view.MenuItem;
import android.view.MotionEvent;
import android.view.View;
import android.view.ViewGroup;
import android.widget.TextView;
import java.io.File;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BooleanSupplier;

/**
 * A phone with one app, for one test, on whose thread the app's main thread is. What a person does are functions of it: to tap, to
 * type, to allow, to turn the phone. Not Android: README.md says what is as there, and what is not.
 */
public final class Phone {
    public static final int WIDTH = 1080, HEIGHT = 1920; // pixels of a screen's contents
    private static Phone current;

    public final Thread main = Thread.currentThread();
    public final App app;
    public final JobScheduler scheduler = new JobScheduler();
    public final Gallery gallery = new Gallery(this);
    public final Map<String, SharedPreferences> preferences = new ConcurrentHashMap<>();
    public final List<String> toasts = new ArrayList<>();
    /** Screens of other apps that were asked for. */
    public final List<Intent> handed = new ArrayList<>();
    public volatile int battery = 80, thermal;
    public volatile boolean isSaving, isCharging, hasExternalStorage = true, isKeyboardShown;
    public String language = "en";
    /** Permissions that the person will allow when asked. */
    public final Set<String> willAllow = new HashSet<>();
    private final Set<String> granted = ConcurrentHashMap.newKeySet();
    private final Map<String, Integer> refusals = new HashMap<>();
    private final Deque<Activity> screens = new ArrayDeque<>();
    private final Map<Activity, Integer> awaited = new HashMap<>(); // who wants a result, with its code
    private final File home;
    private IntentSender asked; // what the system asks the person
    private int askedCode;
    private ActionMode bar;
    private ActionMode.Callback ofBar;

    public Phone(App app, File home) {
        this.app = app;
        this.home = home;
        Handler.clear();
        current = this;
    }

    public static Phone get() {
        return current;
    }

    public File folder(String name) {
        File out = new File(home, name);
        out.mkdirs();
        return out;
    }

    // Permissions

    public boolean isGranted(String permission) {
        return granted.contains(permission) && app.declares(permission);
    }

    public void grant(String... permissions) {
        granted.addAll(List.of(permissions));
    }

    public void revoke(String... permissions) {
        granted.removeAll(List.of(permissions));
    }

    /** The system asks no more after two refusals. */
    public void ask(Activity of, String[] names, int code) {
        int[] results = new int[names.length];
        for (int n = 0; n < names.length; n++) {
            boolean isAsked = app.declares(names[n]) && refusals.getOrDefault(names[n], 0) < 2;
            if (isAsked && willAllow.contains(names[n])) granted.add(names[n]);
            else if (isAsked && !isGranted(names[n])) refusals.merge(names[n], 1, Integer::sum);
            results[n] = isGranted(names[n]) ? PackageManager.PERMISSION_GRANTED : PackageManager.PERMISSION_DENIED;
        }
        post(() -> of.onRequestPermissionsResult(code, names, results));
    }

    /** The system asks the person before another app's deed. */
    public void question(Activity of, IntentSender deed, int code) {
        asked = deed;
        askedCode = code;
    }

    /** The person says yes or no. */
    public void answer(boolean yes) {
        IntentSender deed = asked;
        asked = null;
        if (yes) deed.deed.run();
        screen().result(askedCode, yes ? Activity.RESULT_OK : Activity.RESULT_CANCELED, null);
    }

    public boolean isAsking() {
        return asked != null;
    }

    /** A bar takes the place of the screen's menu. */
    public void showBar(ActionMode bar, ActionMode.Callback of) {
        this.bar = bar;
        ofBar = of;
    }

    public ActionMode bar() {
        return bar;
    }

    public boolean mayAskAgain(String permission) {
        return refusals.getOrDefault(permission, 0) == 1;
    }

    // Screens

    private void post(Runnable work) {
        new Handler(Looper.getMainLooper()).post(work);
    }

    /** Runs the main thread until something is so, at most for a minute. */
    public void until(String what, BooleanSupplier isSo) {
        long end = System.nanoTime() + 60_000_000_000L;
        while (!isSo.getAsBoolean()) {
            if (System.nanoTime() > end) throw new AssertionError("a minute has passed, and still not: " + what);
            Handler.runDue(20);
        }
    }

    /** Runs the main thread for some time. */
    public void during(long milliseconds) {
        long end = System.nanoTime() + milliseconds * 1_000_000;
        while (System.nanoTime() < end) Handler.runDue(5);
    }

    public Activity screen() {
        return screens.peek();
    }

    /** Starts the app as the launcher does. */
    public Activity open(Class<? extends Activity> screen) {
        start(null, new Intent((android.content.Context) null, screen), -1);
        return screen();
    }

    /** Starts a screen as `adb shell am start` does, with what the intent carries. */
    public Activity open(Intent to) {
        start(null, to, -1);
        return screen();
    }

    public void start(Activity from, Intent to, int code) {
        if (Thread.currentThread() != main) post(() -> start(from, to, code));
        else if (to.screen == null) {
            handed.add(to);
            if (code >= 0) awaited.put(from, code);
        } else {
            Activity before = screens.peek();
            if (before != null) before.pause();
            begin(to, null);
            if (before != null) before.stop();
        }
    }

    private void begin(Intent to, Bundle saved) {
        try {
            var made = to.screen.getDeclaredConstructor();
            Activity screen = (Activity) made.newInstance();
            screen.attach(to);
            screens.push(screen);
            screen.create(saved);
        } catch (ReflectiveOperationException error) {
            throw new IllegalStateException(error);
        }
    }

    /** A document is picked for the screen that asked. */
    public void pick(Uri uri) {
        Activity screen = screen();
        int code = awaited.remove(screen);
        screen.result(code, uri == null ? Activity.RESULT_CANCELED : Activity.RESULT_OK, uri == null ? null : new Intent("picked", uri));
    }

    public void back() {
        Activity ended = screens.pop();
        ended.pause();
        if (screen() != null) screen().start();
        ended.stop();
        ended.destroy();
    }

    /** A screen ends itself, when what it does is done. */
    public void end(Activity of) {
        post(() -> {
            if (screen() == of) back();
        });
    }

    /** The phone is turned: the screen is made anew, unless the manifest says that it minds that by itself. */
    public void turn() {
        if (app.minds(screen().getClass(), "orientation")) screen().content().layout(HEIGHT, WIDTH);
        else remake();
    }

    /** The screen is destroyed and made anew, as when the app was ended in the background. */
    public void remake() {
        Activity old = screens.pop();
        old.pause();
        old.stop();
        Bundle saved = old.saved();
        old.destroy();
        begin(old.getIntent(), saved);
    }

    /** The app goes to the background and comes back. */
    public void leaveAndReturn() {
        screen().pause();
        screen().stop();
        for (Activity each : screens) each.onTrimMemory(android.content.ComponentCallbacks2.TRIM_MEMORY_UI_HIDDEN);
        screen().start();
    }

    public void closeAll() {
        while (screen() != null) back();
    }

    /** Chooses an entry of the screen's menu by its words in the phone's language. */
    public void choose(String words) {
        Menu menu = bar == null ? new Menu() : bar.getMenu();
        if (bar == null) screen().onCreateOptionsMenu(menu);
        for (MenuItem item : menu.items) {
            if (!app.string(item.title, language).equals(words)) continue;
            if (bar == null) screen().onOptionsItemSelected(item);
            else ofBar.onActionItemClicked(bar, item);
            return;
        }
        throw new AssertionError("no entry '" + words + "' in the menu");
    }

    public void plug() {
        isCharging = true;
        scheduler.powered();
    }

    /** Types into the line of a screen, and ends it with the keyboard's action. */
    public void type(String text) {
        TextView line = one(android.widget.EditText.class);
        isKeyboardShown = true;
        line.setText(text);
        line.onEditorAction(android.view.inputmethod.EditorInfo.IME_ACTION_SEARCH);
    }

    // Views

    public <V extends View> List<V> all(Class<V> type) {
        List<V> out = new ArrayList<>();
        if (screen().content() != null) collect(screen().content(), type, out);
        return out;
    }

    private static <V extends View> void collect(View view, Class<V> type, List<V> into) {
        if (view.getVisibility() != View.VISIBLE) return;
        if (type.isInstance(view)) into.add(type.cast(view));
        if (view instanceof ViewGroup group) for (int n = 0; n < group.getChildCount(); n++) collect(group.getChildAt(n), type, into);
    }

    public <V extends View> V one(Class<V> type) {
        List<V> found = all(type);
        if (found.isEmpty()) throw new AssertionError("no " + type.getSimpleName() + " on the screen, which says: " + said());
        return found.get(0);
    }

    /** All texts of the screen. */
    public String said() {
        StringBuilder out = new StringBuilder();
        for (TextView view : all(TextView.class)) out.append(view.getText()).append('\n');
        return out.toString();
    }

    /** Presses the button with these words. */
    public void press(String words) {
        for (TextView view : all(TextView.class)) {
            if (!view.getText().toString().equals(words)) continue;
            if (!view.isEnabled()) throw new AssertionError("'" + words + "' is disabled");
            if (!view.performClick()) throw new AssertionError("'" + words + "' is no button");
            return;
        }
        throw new AssertionError("no button '" + words + "' on the screen, which says: " + said());
    }

    // Fingers

    private long clock = 1;

    private void touch(View view, int action, long after, float... at) {
        clock += after;
        view.dispatchTouchEvent(new MotionEvent(action, clock, at));
    }

    public void tap(View view, float x, float y) {
        touch(view, MotionEvent.DOWN, 1_000, x, y);
        touch(view, MotionEvent.UP, 50, x, y);
    }

    /** Soon after a tap: the second of a double tap. */
    public void tapAgain(View view, float x, float y) {
        touch(view, MotionEvent.DOWN, 100, x, y);
        touch(view, MotionEvent.UP, 50, x, y);
    }

    public void drag(View view, float x, float y, float toX, float toY, long milliseconds) {
        touch(view, MotionEvent.DOWN, 1_000, x, y);
        for (int n = 1; n <= 10; n++) touch(view, MotionEvent.MOVE, milliseconds / 10, x + (toX - x) * n / 10, y + (toY - y) * n / 10);
        touch(view, MotionEvent.UP, 1, toX, toY);
    }

    /** Two fingers go apart around a point, to a multiple of their distance. */
    public void spread(View view, float x, float y, float times) {
        touch(view, MotionEvent.DOWN, 1_000, x - 50, y, x + 50, y);
        for (int n = 1; n <= 10; n++) {
            float by = 50 * (1 + (times - 1) * n / 10);
            touch(view, MotionEvent.MOVE, 10, x - by, y, x + by, y);
        }
        touch(view, MotionEvent.UP, 10, x, y);
    }
}
