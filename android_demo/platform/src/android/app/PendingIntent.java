package android.app;

import android.content.IntentSender;

/** What another app will do; here the gallery, once the person has said yes. */
public final class PendingIntent {
    private final IntentSender sender;

    public PendingIntent(Runnable deed) {
        sender = new IntentSender(deed);
    }

    public IntentSender getIntentSender() {
        return sender;
    }
}
