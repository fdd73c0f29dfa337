package android.app;

import android.content.ActivityNotFoundException;
import android.content.Context;
import android.content.Intent;
import android.content.IntentSender;
import android.os.Bundle;
import android.os.Handler;
import android.os.Looper;
import android.view.Menu;
import android.view.MenuItem;
import android.view.View;
import standin.Phone;

public class Activity extends Context {
    public static final int RESULT_OK = -1, RESULT_CANCELED = 0;
    private Intent intent;
    private CharSequence title;
    private View content;
    /** Calls of this class that overriding methods must make. */
    private String made = "";

    public final void attach(Intent intent) {
        this.intent = intent;
    }

    public Intent getIntent() {
        return intent;
    }

    public CharSequence getTitle() {
        return title;
    }

    public void setTitle(CharSequence title) {
        this.title = title;
    }

    public void setContentView(View view) {
        if (content != null) content.shown(false);
        content = view;
        view.shown(true);
        view.layout(Phone.WIDTH, Phone.HEIGHT);
    }

    public View findViewById(int id) {
        return content == null ? null : content.findViewById(id);
    }

    public View content() {
        return content;
    }

    public final void runOnUiThread(Runnable work) {
        if (Thread.currentThread() == Phone.get().main) work.run();
        else new Handler(Looper.getMainLooper()).post(work);
    }

    public void finish() {
        Phone.get().end(this);
    }

    @Override
    public void startActivity(Intent to) {
        startActivityForResult(to, -1);
    }

    public void startActivityForResult(Intent to, int code) {
        if (to.getExtras() != null) to.getExtras().checkSize();
        if (to.screen != null && !Phone.get().app.isScreen(to.screen)) throw new ActivityNotFoundException(to.screen + ": have you declared this activity in your AndroidManifest.xml?");
        Phone.get().start(this, to, code);
    }

    public void startIntentSenderForResult(IntentSender to, int code, Intent fill, int mask, int values, int extra) throws IntentSender.SendIntentException {
        Phone.get().question(this, to, code);
    }

    public final void requestPermissions(String[] names, int code) {
        Phone.get().ask(this, names, code);
    }

    public boolean shouldShowRequestPermissionRationale(String name) {
        return Phone.get().mayAskAgain(name);
    }

    protected void onCreate(Bundle saved) {
        made += "create ";
    }

    protected void onStart() {
        made += "start ";
    }

    protected void onResume() {
        made += "resume ";
    }

    protected void onPause() {
        made += "pause ";
    }

    protected void onStop() {
        made += "stop ";
    }

    protected void onDestroy() {
        made += "destroy ";
    }

    protected void onSaveInstanceState(Bundle kept) {}

    public void onTrimMemory(int level) {}

    public boolean onCreateOptionsMenu(Menu menu) {
        return true;
    }

    public boolean onOptionsItemSelected(MenuItem item) {
        return false;
    }

    public void onRequestPermissionsResult(int code, String[] permissions, int[] results) {}

    protected void onActivityResult(int code, int result, Intent data) {}

    public void result(int code, int result, Intent data) {
        onActivityResult(code, result, data);
    }

    public void create(Bundle saved) {
        onCreate(saved);
        called("create");
        start();
    }

    public void start() {
        onStart();
        called("start");
        resume();
    }

    public void resume() {
        onResume();
        called("resume");
    }

    public void pause() {
        onPause();
        called("pause");
    }

    public void stop() {
        onStop();
        called("stop");
    }

    public Bundle saved() {
        Bundle out = new Bundle();
        onSaveInstanceState(out);
        out.checkSize();
        return out;
    }

    public boolean isDestroyed() {
        return made.endsWith("destroy ");
    }

    public void destroy() {
        if (content != null) content.shown(false);
        onDestroy();
        called("destroy");
    }

    private void called(String name) {
        if (!made.endsWith(name + " ")) throw new IllegalStateException("SuperNotCalledException: " + getClass() + " did not call super for " + name);
    }
}
